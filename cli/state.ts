import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import type { KeyRotation } from '../orchestrator-stub/secrets/site-seal.ts';
import type { Store } from '../orchestrator-stub/store/store.ts';
import { KindlingError } from '../protocol/error.ts';
import { lockStateFolder, openStateFolder } from '../site/state-folder.ts';
import { addDatabaseOptions, type DatabaseOptions, toAddress } from './database-options.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';

/** `kindling state …`: moves a site's state between databases, while no orchestrator runs, and changes the key of its secrets. */
export function defineState(command: Command): void {
  const define = (name: string, summary: string) =>
    addDatabaseOptions(command.command(name).description(summary).argument('<file>'));
  define('export', 'write nodes, workflows, logs and sealed secrets into a new file').action(exportTo);
  define('import', 'fill an empty database from such a file').action(importFrom);
  withConnection(
    command.command('rotate-key').description('seal the secrets of a running orchestrator with a new key'),
  ).action(rotateKey);
}

async function rotateKey(options: ConnectionOptions): Promise<void> {
  const rotation = await new ServerConnection(options).call<KeyRotation>('POST', '/api/v1/site/rotate-key');
  if (options.output === 'json') console.log(JSON.stringify(rotation, null, 2));
  else if (rotation.isNew)
    console.log(`${rotation.sealed} secrets are sealed with the new key ${rotation.keyId}`);
  else
    console.log(
      `the key file still begins with key ${rotation.keyId}: put a new key on its first line, and run this again`,
    );
}

async function exportTo(path: string, options: DatabaseOptions): Promise<void> {
  const { exportState } = await import('../orchestrator-stub/store/transfer/export-state.ts');
  await using store = await openState(options);
  const { SiteSeal } = await import('../orchestrator-stub/secrets/site-seal.ts');
  // An older version left secrets as they are; the file is to have sealed ones.
  await SiteSeal.open(store.store, { stateFolder: options.state, file: options.stateKey });
  // It never takes the place of another export.
  const file = await open(path, 'wx', 0o600).catch((cause: unknown) => {
    throw new KindlingError('KND_USAGE', `cannot make the file ${path}`, { cause });
  });
  await using output = { file, [Symbol.asyncDispose]: () => file.close() };
  const digest = await exportState(store.store, (line) => output.file.appendFile(`${line}\n`));
  await file.sync();
  console.log(`${digest.rows} rows, sha256 ${digest.sha256}`);
  console.log('its secrets are sealed: take the key file along, without which nobody can read them');
}

async function importFrom(path: string, options: DatabaseOptions): Promise<void> {
  const { importState } = await import('../orchestrator-stub/store/transfer/import-state.ts');
  await using store = await openState(options);
  const digest = await importState(store.store, linesOf(path));
  console.log(`${digest.rows} rows, sha256 ${digest.sha256}`);
  console.log('its secrets are sealed: serve needs the key file of the site they come from');
}

/** By line feeds alone: readline also breaks at U+2028, which text may have. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** The state, with no orchestrator beside us. */
async function openState(options: DatabaseOptions): Promise<AsyncDisposable & { store: Store }> {
  const { openStore } = await import('../orchestrator-stub/store/open-store.ts');
  openStateFolder(options.state);
  const lock = lockStateFolder(options.state);
  const onDefect = (thrown: unknown) => {
    throw thrown;
  };
  const location = { stateFolder: options.state, database: toAddress(options) };
  const store = await openStore(location, { onDefect, isAlone: true });
  return {
    store,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      lock[Symbol.dispose]();
    },
  };
}
