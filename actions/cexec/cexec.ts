import { defineAction } from '../contract/action.ts';
import { lineLogger } from '../contract/line-logger.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { enterRoot } from '../target-root/enter-root.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';
import { parseCommandLine } from './command-line.ts';

export const cexec = defineAction({
  name: 'cexec',
  aliases: [],
  summary: 'Runs a command in the installed system (chroot) or beside it',
  destroysData: false,
  mayRunAgain: true,
  passesVariablesOn: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    BLOCK_DEVICE: {
      type: 'absolute-path',
      description: 'The partition of the installed system; without it the root partition of the target disk',
    },
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
    CHROOT: {
      type: 'flag',
      description: 'Any value: run inside the installed system, with /dev, /proc and /sys',
    },
    DEFAULT_INTERPRETER: {
      type: 'text',
      description: 'Program that gets CMD_LINE as its last argument, e.g. /bin/sh -c',
    },
    CMD_LINE: {
      type: 'text',
      required: true,
      pattern: /\S/,
      description: 'The command, or several separated by ;',
    },
    UPDATE_RESOLV_CONF: {
      type: 'boolean',
      default: false,
      description: 'Lend the installed system the Micro-OS’s resolv.conf while the command runs',
    },
    JSON_OUTPUT: { type: 'boolean', default: true, description: 'Accepted; output goes to the action’s log' },
    JSON_OUTOUT: { type: 'boolean', default: true, description: 'The reference’s spelling of JSON_OUTPUT' },
  },
  notes: [
    'Without `DEFAULT_INTERPRETER` the command line is split as a shell splits it: quotes and backslashes work, variables and pipes do not. Other variables of the action are passed on to the command (`HTTP_PROXY`, …).',
  ],
  async run(variables, context) {
    const commands = commandsOf(variables.CMD_LINE, variables.DEFAULT_INTERPRETER);
    const target = await findTargetFilesystem(context, variables.BLOCK_DEVICE, variables.KINDLING_DISK);
    if (context.isDryRun) {
      const where = variables.CHROOT ? `in the system on ${target.device}` : `with ${target.device} mounted`;
      return { summary: `would run ${JSON.stringify(commands)} ${where}` };
    }
    const mounted = await mountFilesystem(context, target.device, {
      fsType: variables.FS_TYPE ?? target.fsType,
    });
    const root = variables.CHROOT
      ? await enterRoot(context, mounted.target, { lendResolvConf: variables.UPDATE_RESOLV_CONF })
      : undefined;
    const passedOn = Object.fromEntries(
      Object.entries(context.environment).filter(([name]) => !(name in cexec.parameters)),
    );
    for (const [program = '', ...args] of commands) {
      const [first = '', ...rest] = root ? ['chroot', mounted.target, program, ...args] : [program, ...args];
      const logger = lineLogger(context);
      await context
        .run(first, rest, {
          env: {
            ...(root ? { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } : {}),
            ...passedOn,
          },
          ...(root ? {} : { cwd: mounted.target }),
          onOutput: logger.onOutput,
          hidesArguments: true,
        })
        .finally(logger.end);
    }
    await root?.leave();
    await mounted.unmount();
    return {
      summary: `ran ${commands.length} command${commands.length === 1 ? '' : 's'} on ${target.device}`,
    };
  },
});

function commandsOf(commandLine: string, interpreter: string | undefined): string[][] {
  if (interpreter === undefined) return parseCommandLine(commandLine);
  return [[...interpreter.split(' ').filter(Boolean), commandLine]];
}
