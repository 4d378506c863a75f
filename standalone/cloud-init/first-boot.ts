import { NODE_ID, STICK_LABELS } from '../../protocol/stick.ts';
import type { CloudInitFile } from '../bootstrap/standalone-cluster.ts';

const SCRIPT = '/etc/kindling/first-boot.sh';

/** The last command of the first boot: its result as one line on the console; on the stick as a file, with what cloud-init said. */
export function firstBootPart(hostType: string): { files: CloudInitFile[]; commands: string[] } {
  const k3s =
    hostType === 'kubernetes'
      ? 'if [ -e /run/cluster-api/bootstrap-success.complete ]; then k3s=success; else k3s=failed; fi'
      : 'k3s=none';
  const content = `#!/bin/sh
${k3s}
address=$(ip -4 -o addr show scope global 2>/dev/null | awk '{ print $4; exit }')
line="{\\"hostname\\":\\"$(hostname)\\",\\"k3s\\":\\"$k3s\\",\\"address\\":\\"$address\\",\\"kernel\\":\\"$(uname -r)\\"}"
echo "KINDLING-FIRST-BOOT $line" > /dev/console
stick=$(blkid -L ${STICK_LABELS.people}) || exit 0
folder=$(mktemp -d)
if mount -t vfat "$stick" "$folder"; then
  mkdir -p "$folder/status" "$folder/logs"
  echo "$line" > "$folder/status/${NODE_ID}-first-boot.json"
  cp /var/log/cloud-init-output.log "$folder/logs/${NODE_ID}-first-boot.log"
  umount "$folder" && echo "KINDLING-STICK-WRITTEN" > /dev/console
fi
rmdir "$folder"
`;
  return { files: [{ path: SCRIPT, content, permissions: '0755' }], commands: [`sh ${SCRIPT}`] };
}
