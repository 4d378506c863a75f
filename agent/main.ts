import { describeError, KindlingError, toKindlingError } from '../protocol/error.ts';
import { agentBuild } from './version.ts';

/** What `kindling-agent` can be asked to do. One line per command; each is loaded only when it is used. */
const COMMANDS: Record<string, { summary: string; start: (args: string[]) => Promise<number> }> = {
  action: {
    summary: 'run one action, by hand or as a workflow would',
    start: async (args) => {
      (await import('./connection/trust.ts')).trustSiteByDefault();
      return (await import('../actions/process/child-command.ts')).childCommand(
        args,
        (await import('./machine.ts')).machine,
      );
    },
  },
  identify: {
    summary: 'who this machine is',
    start: async (args) => (await import('./inventory/command.ts')).identifyCommand(args),
  },
  inventory: {
    summary: 'what this machine is made of',
    start: async (args) => (await import('./inventory/command.ts')).inventoryCommand(args),
  },
  boot: {
    summary: 'bring the Micro-OS up, then run the agent (started by its init)',
    start: async () => (await import('./boot/command.ts')).bootCommand(),
  },
  config: {
    summary: 'print the effective config and where each value came from',
    start: async (args) => (await import('./print-config.ts')).printConfig(args),
  },
  run: {
    summary: 'onboard, fetch work and do it (the network is up already)',
    start: async (args) => (await import('./run-command.ts')).runCommand(args),
  },
};

async function main([name, ...args]: string[]): Promise<number> {
  if (name === undefined || name === '--help' || name === 'help') {
    process.stdout.write(helpText());
    return 0;
  }
  if (name === '--version') {
    process.stdout.write(`kindling-agent ${agentBuild.version} (${agentBuild.commit})\n`);
    return 0;
  }
  const command = COMMANDS[name];
  if (!command) throw new KindlingError('KND_USAGE', `kindling-agent has no command "${name}"`);
  return command.start(args);
}

function helpText(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`);
  return `kindling-agent <command>\n\n${lines.join('\n')}\n`;
}

// Not a top-level await: the bundle inside the executable is CommonJS, which has none.
main(process.argv.slice(2)).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (thrown) => {
    process.stderr.write(`${describeError(thrown)}\n`);
    process.exitCode = toKindlingError(thrown).exitCode;
  },
);
