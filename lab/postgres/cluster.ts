import type { ChildProcess } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { kill, makeFolder, removeFolder, startGuarded } from '../qemu/processes.ts';

const NAMESPACES = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];
const START_MS = 60_000;
const LOOK_MS = 50;

/** A throw-away PostgreSQL server that only this machine's tests reach. It is gone when this process is, however it ends. */
export class PostgresCluster implements AsyncDisposable {
  readonly folder: string;
  readonly #server: ChildProcess;

  private constructor(folder: string, server: ChildProcess) {
    this.folder = folder;
    this.#server = server;
  }

  static async start(): Promise<PostgresCluster> {
    const folder = makeFolder('postgres');
    chmodSync(folder, 0o755);
    const script = join(import.meta.dirname, 'cluster.sh');
    const server = startGuarded('unshare', [...NAMESPACES, script, folder], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const cluster = new PostgresCluster(folder, server);
    const deadline = performance.now() + START_MS;
    while (!(await cluster.#answers())) {
      if (server.exitCode === null && performance.now() < deadline) await setTimeout(LOOK_MS);
      else {
        await cluster[Symbol.asyncDispose]();
        throw new Error(`PostgreSQL did not start: ${said}`);
      }
    }
    return cluster;
  }

  /** A database URL whose tables nobody else sees. */
  freshSchema(): Promise<string> {
    return makeSchema(this.folder);
  }

  /** As an administrator of the server. */
  async query(sql: string): Promise<pg.QueryResult> {
    return queryOnce(schemaUrl(this.folder, 'public'), sql);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await kill(this.#server);
    removeFolder(this.folder);
  }

  async #answers(): Promise<boolean> {
    return this.query('SELECT 1').then(
      () => true,
      () => false,
    );
  }
}

let schemas = 0;

/** A schema of its own, on the server whose socket is in a folder. Returns its URL. */
export async function makeSchema(folder: string): Promise<string> {
  schemas += 1;
  const schema = `test_${process.pid}_${schemas}`;
  await queryOnce(schemaUrl(folder, 'public'), `CREATE SCHEMA ${schema}`);
  return schemaUrl(folder, schema);
}

/** Gives back the room that the tables of a schema take. */
export async function dropSchema(url: string): Promise<void> {
  const { rows } = await queryOnce(url, 'SELECT current_schema() AS name');
  await queryOnce(url, `DROP SCHEMA ${rows[0].name} CASCADE`);
}

/** The URL of one schema of the server whose socket is in a folder. */
function schemaUrl(folder: string, schema: string): string {
  const options = encodeURIComponent(`-c search_path=${schema}`);
  return `postgres://kindling@/postgres?host=${encodeURIComponent(folder)}&options=${options}`;
}

/** One statement over a connection of its own: what another program does to the database. */
export async function queryOnce(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}
