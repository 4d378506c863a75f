import { toErrorReport } from '../../protocol/error.ts';
import type { Identity } from '../../protocol/identity.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { waitFor } from '../../system/wait.ts';
import type { Consoles } from '../console/consoles.ts';
import { fatalScreen } from '../console/fatal-screen.ts';
import { listenForKeys } from '../console/keys.ts';
import { uptimeSeconds } from '../console/uptime.ts';
import { agentBuild } from '../version.ts';

export type AfterFatal = 'retry' | 'reboot' | 'poweroff';

export interface FatalContext {
  files: MachineFiles;
  consoles: Consoles;
  identity: Identity | undefined;
  /** kindling.on_failure: what to do when nobody comes. */
  policy: 'hold' | 'reboot' | 'poweroff';
  /** With a shell on the console the keys belong to the shell. */
  isDebug: boolean;
}

const RETRY_AFTER_SECONDS = 30;
const POLICY_AFTER_SECONDS = 60;

/** Shows what happened and stays until a key, the retry or the policy decides. */
export async function holdFatal(thrown: unknown, context: FatalContext): Promise<AfterFatal> {
  const { files, consoles, identity, policy, isDebug } = context;
  const report = toErrorReport(thrown);
  const keys = isDebug ? '' : 'Keys: r try again, b reboot, p power off.';
  const plan = report.retryable
    ? `Tries again in ${RETRY_AFTER_SECONDS} s.`
    : policy === 'hold'
      ? 'Stays like this.'
      : `Policy: ${policy} in ${POLICY_AFTER_SECONDS} s.`;
  consoles.marker('FATAL', { ...report });
  consoles.print(
    fatalScreen({
      report,
      nodeId: identity?.nodeId,
      mac: identity?.macs[0],
      version: `${agentBuild.version} (${agentBuild.commit})`,
      uptime: uptimeSeconds(files),
      next: `${plan} ${keys}`,
    }),
  );
  let pressed: AfterFatal | undefined;
  const stopListening = isDebug
    ? () => {}
    : listenForKeys(files, consoles.names, (key) => {
        pressed = { r: 'retry', b: 'reboot', p: 'poweroff' }[key.toLowerCase()] as AfterFatal | undefined;
      });
  const since = uptimeSeconds(files);
  try {
    return await waitFor(
      () => {
        const seconds = uptimeSeconds(files) - since;
        if (pressed) return pressed;
        if (report.retryable && seconds >= RETRY_AFTER_SECONDS) return 'retry';
        if (!report.retryable && policy !== 'hold' && seconds >= POLICY_AFTER_SECONDS) return policy;
        return undefined;
      },
      { name: 'help', timeoutMs: Number.POSITIVE_INFINITY, intervalMs: 200 },
    );
  } finally {
    stopListening();
  }
}
