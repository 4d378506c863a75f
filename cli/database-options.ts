import type { Command } from 'commander';
import type { DatabaseAddress } from '../orchestrator-stub/store/postgres/address.ts';
import { KindlingError } from '../protocol/error.ts';
import { defaultStateFolder } from '../site/state-folder.ts';

export interface DatabaseOptions {
  state: string;
  database?: string;
  databasePasswordFile?: string;
  databaseConnections?: number;
  stateKey?: string;
}

/** Where a site's state is: the options that every command has which opens it. */
export function addDatabaseOptions(command: Command): Command {
  return command
    .option(
      '--state <folder>',
      'folder for the database, the site CA and the artifacts',
      defaultStateFolder(),
    )
    .option(
      '--database <url>',
      'keep nodes and workflows in PostgreSQL, as postgres://user@host/database (default: SQLite in the state folder)',
    )
    .option('--database-password-file <file>', 'file with its password (or the variable PGPASSWORD)')
    .option('--database-connections <number>', 'most connections to it at once (default: 8)', count)
    .option(
      '--state-key <file>',
      'file with the key that seals secrets in the database (default: the systemd credential kindling-state-key, else state-key in the state folder)',
    );
}

export function toAddress(options: DatabaseOptions): DatabaseAddress | undefined {
  const { database: url, databasePasswordFile: passwordFile, databaseConnections } = options;
  if (url === undefined) {
    if (passwordFile !== undefined || databaseConnections !== undefined)
      throw new KindlingError('KND_USAGE', 'options of a database need --database');
    return undefined;
  }
  return { url, passwordFile, connections: databaseConnections };
}

/** One writes and one reads. */
function count(text: string): number {
  const connections = Number(text);
  if (Number.isInteger(connections) && connections >= 2) return connections;
  throw new KindlingError('KND_USAGE', `--database-connections is a number from 2 on, not ${text}`);
}
