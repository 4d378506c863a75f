import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import type { LogLineSchema, NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type ConnectionOptions, ServerConnection } from '../server-connection.ts';
import { listNodes, type NodeFilters } from './list.ts';
import { nodePath } from './node-path.ts';
import { formatLogLine } from './print.ts';

type Line = z.output<typeof LogLineSchema>;

export interface LogsOptions extends ConnectionOptions, NodeFilters {
  lines: string;
  follow?: boolean;
  all?: boolean;
  folder?: string;
}

/** What one node logged, on the terminal; or what many did, one file each. */
export async function showLogs(node: string | undefined, options: LogsOptions): Promise<void> {
  if (node !== undefined && !options.all && options.folder === undefined) return printLogs(node, options);
  if (node === undefined && options.all && options.folder !== undefined && !options.follow) {
    return saveLogs(options.folder, options);
  }
  throw new KindlingError('KND_USAGE', 'say which node, or --all with --folder FOLDER');
}

async function printLogs(node: string, options: LogsOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const print = (line: Line) => console.log(textOf(line, options));
  // The stream is opened first so that no line falls between the two.
  const { id } = await connection.call<NodeView>('GET', nodePath(node));
  const stream = options.follow ? connection.events(`/api/v1/events?node=${id}`) : undefined;
  const first = stream?.next();
  first?.catch(() => {}); // told below, unless the lines cannot be had either
  const lines = await linesOf(connection, node, options.lines);
  for (const line of lines) print(line);
  if (!stream || !first) return;
  const seen = new Set(lines.map(({ stream: of, sequence }) => `${of}/${sequence}`));
  for (let next = await first; !next.done; next = await stream.next()) {
    if (next.value.type !== 'log') continue;
    for (const line of (next.value.data as { lines: Line[] }).lines) {
      if (!seen.has(`${line.stream}/${line.sequence}`)) print(line);
    }
  }
}

/** One after the other: a thousand logs at once would be a thousand answers in memory. */
async function saveLogs(folder: string, options: LogsOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const nodes = await listNodes(connection, options);
  await mkdir(folder, { recursive: true });
  for (const { id, name } of nodes) {
    const lines = await linesOf(connection, id, options.lines);
    const extension = options.output === 'json' ? 'jsonl' : 'log';
    const text = lines.map((line) => `${textOf(line, options)}\n`).join('');
    await writeFile(join(folder, `${fileName(name, id)}.${extension}`), text);
  }
  console.log(`${nodes.length} logs in ${folder}`);
}

async function linesOf(connection: ServerConnection, node: string, limit: string): Promise<Line[]> {
  const path = `${nodePath(node)}/logs?limit=${encodeURIComponent(limit)}`;
  return (await connection.call<{ lines: Line[] }>('GET', path)).lines;
}

function textOf(line: Line, { output }: ConnectionOptions): string {
  return output === 'json' ? JSON.stringify(line) : formatLogLine(line);
}

/** A node chooses its name in part: what leads out of the folder, or would be no name, is not in it. Ids keep two of one name apart. */
function fileName(name: string, id: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64);
  return `${plain}-${id.replaceAll(/[^A-Za-z0-9-]/g, '')}`;
}
