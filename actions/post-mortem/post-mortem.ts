import { defineAction } from '../contract/action.ts';
import { ROOT_PARTITION_PARAMETERS } from '../disks/find-target-disk.ts';
import { mountEfiVariables } from '../mounts/mount-efi-variables.ts';
import { readCrashDump, removeCrashDump } from './crash-dump.ts';
import { readInstalledLogs } from './read-installed-system.ts';
import { findReason } from './verdict.ts';

const LINES_PER_LOG = 80;

export const postMortem = defineAction({
  name: 'post-mortem',
  aliases: [],
  summary: 'Finds out why an installed system did not report its first boot',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...ROOT_PARTITION_PARAMETERS,
  },
  notes: [
    'Reads the kernel’s last words from the firmware’s memory (efi_pstore), and from the disk the log of cloud-init and the journal that a system keeps when its time to report is over. The disk is mounted read-only and without replaying its journal. What was found goes into the log of the node, line by line; the result is the reason in one sentence.',
    'The orchestrator runs it by itself when a node comes back into the Micro-OS before its installed system has reported.',
  ],
  async run(variables, context) {
    const directory = await mountEfiVariables(context);
    const crash = directory ? await readCrashDump(directory) : { text: '', files: [] };
    const logs = await readInstalledLogs(context, {
      device: variables.DEST_DISK,
      selector: variables.KINDLING_DISK,
    });
    const show = (source: string, text: string | undefined) => {
      for (const line of (text ?? '').trimEnd().split('\n').slice(-LINES_PER_LOG))
        if (line !== '') context.log('info', `${source}: ${line}`);
    };
    show('kernel', crash.text);
    show('cloud-init', logs.cloudInitLog);
    show('journal', logs.firstBootLog);
    const reason = findReason({ ...logs, crash: crash.text });
    if (!context.isDryRun) await removeCrashDump(crash.files).catch(() => {});
    context.log('error', `the installed system did not report its first boot: ${reason}`, {
      code: 'KND_FIRST_BOOT_FAILED',
    });
    return { summary: reason, data: { code: 'KND_FIRST_BOOT_FAILED' } };
  },
});
