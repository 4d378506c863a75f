import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { KindlingError } from '../../protocol/error.ts';
import type { ShiftFigures } from '../../protocol/shift-figures.ts';
import type { SignedRecord } from '../../protocol/shipping-record.ts';
import { secondsOf } from '../duration.ts';
import { isFiltered, listNodes, type NodeFilters, withNodeFilters } from '../node/list.ts';
import { nodePath } from '../node/node-path.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from '../server-connection.ts';
import { formatFields } from '../table.ts';
import { verifyFile } from './verify.ts';

const FORMATS = ['json', 'csv', 'html', 'zpl', 'batch'] as const;
type Format = (typeof FORMATS)[number];

export interface RecordOptions extends ConnectionOptions, NodeFilters {
  all?: boolean;
  format: Format;
  file?: string;
}

/** `kindling record …`: what leaves with the machines. */
export function defineRecord(command: Command): void {
  withNodeFilters(withConnection(command.argument('[nodes...]', 'ids, names, UUIDs, serials or MACs')))
    .option('--all', 'every node, or those that the filters leave')
    .option(
      '--format <format>',
      'json (signed), csv, html or zpl (labels), batch (everything, signed, one file)',
      checkFormat,
      'json',
    )
    .option('--file <file>', 'write it there instead of to standard output')
    .action(exportRecords);
  command
    .command('verify <file>')
    .description('check a record or a batch without the server: nothing was changed since the site signed it')
    .option('--key <key>', 'the site’s public key, from "kindling record keys"; may be repeated', collect, [])
    .action((file: string, options: { key: string[] }) => verifyFile(file, options.key));
  command
    .command('keys')
    .description('the public keys that sign this site’s records, for people who check them')
    .action((_: unknown, keys: Command) => printKeys(keys.optsWithGlobals()));
  command
    .command('shift')
    .description('done, failed, first-pass yield, per hour and the slowest stage')
    .option('--since <time>', 'how far back: 8h, 2d', '8h')
    .action((_: unknown, shift: Command) => printShift(shift.optsWithGlobals()));
}

export async function exportRecords(nodes: string[], options: RecordOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const wanted = await wantedNodes(connection, nodes, options);
  const bytes = await fetchRecords(connection, wanted, options.format);
  if (options.file !== undefined) writeFileSync(options.file, bytes);
  else process.stdout.write(bytes);
}

async function fetchRecords(
  connection: ServerConnection,
  nodes: readonly string[],
  format: Format,
): Promise<Buffer> {
  if (format !== 'json') return connection.download('POST', '/api/v1/records', { nodes, format });
  const records: SignedRecord[] = [];
  for (const node of nodes)
    records.push(await connection.call<SignedRecord>('GET', `${nodePath(node)}/record`));
  return Buffer.from(`${JSON.stringify(records.length === 1 ? records[0] : records, null, 2)}\n`);
}

async function wantedNodes(
  connection: ServerConnection,
  named: string[],
  options: RecordOptions,
): Promise<string[]> {
  if (named.length > 0) return named;
  if (!options.all && !isFiltered(options))
    throw new KindlingError('KND_USAGE', 'say which nodes, or --all, or a filter such as --group done');
  const found = await listNodes(connection, { ...options, sort: 'name' });
  if (found.length === 0) throw new KindlingError('KND_NODE_UNKNOWN', 'no node fits');
  return found.map(({ id }) => id);
}

async function printKeys(options: ConnectionOptions): Promise<void> {
  const { keys } = await new ServerConnection(options).call<{ keys: string[] }>(
    'GET',
    '/api/v1/signing-keys',
  );
  console.log(options.output === 'json' ? JSON.stringify(keys) : keys.join('\n'));
}

export async function printShift(options: ConnectionOptions & { since: string }): Promise<void> {
  const since = new Date(Date.now() - secondsOf(options.since) * 1000).toISOString();
  const query = new URLSearchParams({ since });
  const shift = await new ServerConnection(options).call<ShiftFigures>('GET', `/api/v1/shift?${query}`);
  console.log(options.output === 'json' ? JSON.stringify(shift) : shiftWords(shift));
}

function shiftWords({ since, until, ...figures }: ShiftFigures): string {
  const { done, failed, firstPass, firstPassYield, perHour, slowestStage } = figures;
  return formatFields([
    ['Time', `${since} to ${until}`],
    ['Done', done],
    ['Failed', failed],
    [
      'First pass',
      firstPassYield === null
        ? null
        : `${firstPass} of ${done + failed} (${(100 * firstPassYield).toFixed(1)} %)`,
    ],
    ['Per hour', perHour.toFixed(1)],
    [
      'Slowest stage',
      slowestStage && `${slowestStage.stage}, ${Math.round(slowestStage.medianSeconds)} s (median)`,
    ],
  ]);
}

function checkFormat(value: string): string {
  if (FORMATS.some((format) => format === value)) return value;
  throw new KindlingError('KND_USAGE', `--format is ${FORMATS.join(', ')}, not ${value}`);
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}
