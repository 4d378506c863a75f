import { NODE_ID, STICK_LABELS } from '../../protocol/stick.ts';
import { firstBootScript } from '../../system/first-boot/first-boot-script.ts';
import type { CloudInitFile } from '../bootstrap/standalone-cluster.ts';

const SCRIPT = '/etc/kindling/first-boot.sh';

/** The last command of the first boot: its result as one line on the console; on the stick as a file, with what cloud-init said. */
export function firstBootPart(hostType: string): { files: CloudInitFile[]; commands: string[] } {
  const content = firstBootScript({
    stickLabel: STICK_LABELS.people,
    nodeId: NODE_ID,
    ...(hostType === 'kubernetes' ? { k3sDone: '/run/cluster-api/bootstrap-success.complete' } : {}),
  });
  return { files: [{ path: SCRIPT, content, permissions: '0755' }], commands: [`sh ${SCRIPT}`] };
}
