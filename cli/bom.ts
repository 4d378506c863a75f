import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { NodeView } from '../orchestrator-stub/http/api/node-schemas.ts';
import type { Profile } from '../orchestrator-stub/nodes/profile.ts';
import { nodePath } from './node/node-path.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';

/** `kindling bom …`: what machines have to be made of before anything is written to them. */
export function defineBom(command: Command): void {
  withConnection(
    command
      .command('learn <node>')
      .description('take the parts of a good machine as what a profile asks for'),
  )
    .requiredOption('--profile <profile>', 'the profile that asks for them from now on')
    .action(learnBill);
  withConnection(command.command('show <profile>').description('what a profile asks for')).action(showBill);
  withConnection(
    command.command('accept <node>').description('take a machine as it is, although it differs'),
  ).action(acceptParts);
}

export async function learnBill(
  node: string,
  options: ConnectionOptions & { profile: string },
): Promise<void> {
  const path = `/api/v1/profiles/${encodeURIComponent(options.profile)}/bill`;
  printBill(await new ServerConnection(options).call<Profile>('POST', path, { node }), options);
}

async function showBill(profile: string, options: ConnectionOptions): Promise<void> {
  const path = `/api/v1/profiles/${encodeURIComponent(profile)}`;
  printBill(await new ServerConnection(options).call<Profile>('GET', path), options);
}

export async function acceptParts(node: string, options: ConnectionOptions): Promise<void> {
  const path = `${nodePath(node)}/accept-parts`;
  const accepted = await new ServerConnection(options).call<NodeView>('POST', path);
  if (options.output === 'json') console.log(JSON.stringify(accepted, null, 2));
  else console.log(`${accepted.name} is taken as it is: ${accepted.acceptedParts}`);
}

/** As "kindling profile add --file" takes it. */
function printBill({ name, bill }: Profile, { output }: ConnectionOptions): void {
  if (output === 'json') console.log(JSON.stringify(bill ?? null, null, 2));
  else if (!bill) console.log(`${name} asks for no parts`);
  else console.log(stringify({ bill }).trimEnd());
}
