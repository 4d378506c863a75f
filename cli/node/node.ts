import type { Command } from 'commander';
import type { z } from 'zod';
import type { NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import type { StoredKeySchema } from '../../orchestrator-stub/http/api/recovery-key-routes.ts';
import type { CertificateRefusal } from '../../orchestrator-stub/nodes/certificate-refusals.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from '../server-connection.ts';
import { formatTable } from '../table.ts';
import { importNodes } from './import.ts';
import { isFiltered, type ListOptions, listNodes, NODE_COLUMNS, withNodeFilters } from './list.ts';
import { showLogs } from './logs.ts';
import { nodePath } from './node-path.ts';
import { formatNode } from './print.ts';
import { waitForNodes } from './wait.ts';
import { watchNodes } from './watch.ts';

interface RegisterOptions extends ConnectionOptions {
  uuid?: string;
  serial?: string;
  mac?: string;
  name?: string;
  profile?: string;
  site?: string;
  auto?: boolean;
  proof?: string;
  ekHash?: string;
}

/** `kindling node …`: everything about machines. `<node>` is an id, name, UUID, serial or MAC. */
export function defineNode(command: Command): void {
  withNodeFilters(withConnection(command.command('list').description('nodes with their status')))
    .option(
      '--sort <order>',
      'floor (trouble first), name, place, since, heard or created; -name turns it around',
      'created',
    )
    .action(list);
  withConnection(command.command('show <node>').description('one node in full')).action(show);
  withConnection(command.command('watch [node]').description('what happens, as it happens'))
    .option('--until <state>', 'end with success when the node’s status is this, for example Running')
    .option('--timeout <seconds>', 'with --until: give up after this long')
    .action(watchNodes);
  withNodeFilters(
    withConnection(
      command.command('wait [nodes...]').description('until nodes are done; fails where one needs a hand'),
    ),
  )
    .option('--all', 'every node, or those that the filters leave')
    .option('--until <status>', 'what to wait for, as in docs/reference/node-statuses.md', 'running')
    .option('--timeout <seconds>', 'give up after this long')
    .action(waitForNodes);
  withConnection(command.command('register').description('let a machine in, by UUID, serial or MAC'))
    .option('--uuid <uuid>')
    .option('--serial <serial>')
    .option('--mac <mac>')
    .option('--name <name>')
    .option('--profile <profile>', 'provision with this instead of the site’s default')
    .option('--site <site>')
    .option(
      '--proof <when>',
      'prove itself by its TPM: off, when-possible or required; by default as the site says',
    )
    .option('--ek-hash <hash>', 'the TPM it must have: SHA-256 of its endorsement key')
    .option('--auto', 'give credentials at the first knock; without it somebody says “onboard”')
    .action(register);
  withConnection(command.command('correct <node>').description('correct a registration; clears a mismatch'))
    .option('--uuid <uuid>')
    .option('--serial <serial>')
    .option('--mac <mac>')
    .option('--name <name>')
    .option('--profile <profile>')
    .option('--site <site>')
    .option('--proof <when>', 'off, when-possible, required, or site: as the site says')
    .option('--ek-hash <hash>', 'the TPM it must have, or none: forget the one it is known by')
    .option('--enroll', 'an enrollment rule may give it a workflow')
    .option('--no-enroll', 'no enrollment rule gives it a workflow')
    .action((node: string, options: RegisterOptions & { enroll?: boolean }) => {
      const mayEnroll = options.enroll === undefined ? {} : { mayEnroll: options.enroll };
      const body = { ...registrationOf(options), ...clearedOf(options), ...mayEnroll };
      return act(node, options, 'PATCH', '', body, 'corrected');
    });
  withConnection(
    command
      .command('approve <node> <code>')
      .description('the machine whose console shows this code is the node'),
  ).action((node: string, code: string, options: ConnectionOptions) =>
    act(node, options, 'POST', '/approve', { code }, 'is known by the TPM of that machine'),
  );
  withConnection(command.command('onboard <node>').description('let a registered node in')).action(
    (node: string, options: ConnectionOptions) =>
      act(node, options, 'POST', '/onboard', undefined, 'may onboard'),
  );
  withConnection(
    command.command('provision <node> <profile>').description('choose the system of a node'),
  ).action((node: string, profile: string, options: ConnectionOptions) =>
    act(node, options, 'POST', '/provision', { profile }, `gets ${profile}`),
  );
  withConnection(
    command
      .command('reprovision <node>')
      .description('write its disk anew: at once if it is in the Micro-OS'),
  )
    .option('--profile <profile>', 'with this profile from now on')
    .action((node: string, options: RegisterOptions) =>
      act(
        node,
        options,
        'POST',
        '/reprovision',
        options.profile ? { profile: options.profile } : {},
        ({ currentState }) =>
          currentState === 'ONBOARDED'
            ? 'is in the Micro-OS and starts now'
            : 'is written anew when it boots from the network: restart it now',
      ),
    );
  withNodeFilters(
    withConnection(command.command('logs [node]').description('what a node logged, or many in a folder')),
  )
    .option('--lines <number>', 'how many of the newest lines', '200')
    .option('-f, --follow', 'and go on as lines come in')
    .option('--all', 'every node, or those that the filters leave; with --folder')
    .option('--folder <folder>', 'one file per node')
    .action(showLogs);
  withConnection(
    command.command('recovery-key <node>').description('what opens its encrypted disks without the TPM'),
  ).action(recoveryKey);
  withConnection(
    command
      .command('deauthorize <node>')
      .alias('deauthorise')
      .description('its credentials stop working at once'),
  ).action((node: string, options: ConnectionOptions) =>
    act(node, options, 'POST', '/deauthorise', undefined, 'is deauthorized'),
  );
  withConnection(
    command.command('delete <node>').description('forget a node and revoke its credentials'),
  ).action(remove);
  withConnection(command.command('import [file]').description('register many nodes from a CSV file'))
    .option('--dry-run', 'say what would become of every row, and change nothing')
    .option('--skip-bad', 'import the good rows, and write the others to FILE.errors.csv')
    .option('--undo <import>', 'take an import back while none of its machines has booted')
    .option('--example', 'print a file to begin with')
    .option('--manual', 'register only; somebody says “onboard” later')
    .action(importNodes);
}

async function list(options: ListOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const nodes = await listNodes(connection, options);
  if (options.output === 'json') console.log(JSON.stringify(nodes, null, 2));
  else if (nodes.length > 0) console.log(formatTable(nodes, NODE_COLUMNS));
  else if (isFiltered(options)) console.log('no node fits');
  else console.log('no nodes yet; register one with “kindling node register”, or boot one');
  if (options.output === 'table') await tellRefusals(connection);
}

/** Machines that do not come in because they do not trust this server: nothing else is known of them. */
async function tellRefusals(connection: ServerConnection): Promise<void> {
  const { refusals } = await connection.call<{ refusals: CertificateRefusal[] }>(
    'GET',
    '/api/v1/certificate-refusals',
  );
  for (const { address, reason } of refusals) {
    console.log(
      `${address} refuses this server’s certificate (${reason}): give it the site’s CA, with the config archive that “kindling serve --pxe” makes`,
    );
  }
}

async function show(node: string, options: ConnectionOptions): Promise<void> {
  const found = await new ServerConnection(options).call<NodeView>('GET', nodePath(node));
  console.log(options.output === 'json' ? JSON.stringify(found, null, 2) : formatNode(found));
}

async function register(options: RegisterOptions): Promise<void> {
  if (!options.serial && !options.uuid && !options.mac) {
    throw new KindlingError('KND_USAGE', 'say which machine: --serial, --uuid or --mac');
  }
  const body = { ...registrationOf(options), autoOnboard: options.auto ?? false };
  const node = await new ServerConnection(options).call<NodeView>('POST', '/api/v1/nodes', body);
  if (options.output === 'json') console.log(JSON.stringify(node, null, 2));
  else console.log(`${node.name} is registered as ${node.id}`);
}

async function remove(node: string, options: ConnectionOptions): Promise<void> {
  await new ServerConnection(options).call('DELETE', nodePath(node));
  if (options.output === 'table') console.log(`deleted ${node}`);
}

async function recoveryKey(node: string, options: ConnectionOptions): Promise<void> {
  const { keys } = await new ServerConnection(options).call<{ keys: z.output<typeof StoredKeySchema>[] }>(
    'GET',
    `${nodePath(node)}/recovery-keys`,
  );
  if (options.output === 'json') console.log(JSON.stringify(keys, null, 2));
  else if (keys.length === 0) console.log(`${node} has no encrypted disk that we know of`);
  else
    for (const { keyId, recoveryKey: key, encryptedKey, receivedAt } of keys)
      console.log(`${keyId}  ${receivedAt}  ${key ?? `for the offline key: ${encryptedKey}`}`);
}

async function act(
  node: string,
  options: ConnectionOptions,
  method: string,
  path: string,
  body: unknown,
  outcome: string | ((changed: NodeView) => string),
): Promise<void> {
  const changed = await new ServerConnection(options).call<NodeView>(method, nodePath(node) + path, body);
  if (options.output === 'json') console.log(JSON.stringify(changed, null, 2));
  else {
    const what = typeof outcome === 'string' ? outcome : outcome(changed);
    console.log(`${changed.name} (${changed.id}) ${what}: ${changed.status}`);
  }
}

/** What is given as a word and means that nothing is said any more. */
function clearedOf({ proof, ekHash }: RegisterOptions): Record<string, null> {
  return { ...(proof === 'site' ? { proof: null } : {}), ...(ekHash === 'none' ? { ekHash: null } : {}) };
}

function registrationOf(options: RegisterOptions): Record<string, string> {
  const { uuid, serial, mac, name, profile, site, proof, ekHash } = options;
  const given = Object.entries({ uuid, serial, mac, name, profile, site, proof, ekHash });
  return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
