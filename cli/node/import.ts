import { readFileSync } from 'node:fs';
import type { NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import type { Profile } from '../../orchestrator-stub/nodes/profile.ts';
import { KindlingError, toKindlingError } from '../../protocol/error.ts';
import { type ConnectionOptions, ServerConnection } from '../server-connection.ts';
import { formatTable } from '../table.ts';
import { BULK_EXAMPLE, type BulkRow, readBulkFile } from './bulk-rows.ts';

interface ImportOptions extends ConnectionOptions {
  dryRun?: boolean;
  example?: boolean;
  manual?: boolean;
}

interface Outcome {
  line: number;
  node: string;
  result: 'registered' | 'already registered' | 'failed' | 'would be registered';
  detail: string;
}

/** Registers every machine of a CSV file. The whole file is checked first: one bad row and nothing is registered. */
export async function importNodes(file: string | undefined, options: ImportOptions): Promise<void> {
  if (options.example) {
    process.stdout.write(BULK_EXAMPLE);
    return;
  }
  if (file === undefined) {
    throw new KindlingError('KND_USAGE', 'say which file; --example prints one');
  }
  const connection = new ServerConnection(options);
  const { rows, unused } = readBulkFile(readText(file));
  if (unused.length > 0) console.error(`not used here, and left out: ${unused.join(', ')}`);
  await checkProfiles(connection, rows, options.dryRun ?? false);
  refuseBadRows(file, rows);
  const outcomes: Outcome[] = [];
  for (const row of rows) {
    outcomes.push(
      options.dryRun
        ? outcome(row, 'would be registered', '')
        : await registerRow(connection, row, !options.manual),
    );
  }
  if (options.output === 'json') console.log(JSON.stringify(outcomes, null, 2));
  else {
    console.log(
      formatTable(outcomes, [
        ['LINE', ({ line }) => line],
        ['NODE', ({ node }) => node],
        ['RESULT', ({ result }) => result],
        ['DETAIL', ({ detail }) => detail],
      ]),
    );
  }
  const failed = outcomes.filter(({ result }) => result === 'failed').length;
  if (failed > 0) {
    throw new KindlingError(
      'KND_NODE_CONFLICT',
      `${failed} of ${rows.length} nodes could not be registered`,
      {
        hint: 'Correct these rows and import the same file again: what is registered already stays as it is.',
      },
    );
  }
}

async function checkProfiles(
  connection: ServerConnection,
  rows: readonly BulkRow[],
  isDryRun: boolean,
): Promise<void> {
  const profiles = await profilesOf(connection, isDryRun);
  if (!profiles) return;
  const byName = new Map(profiles.map((profile) => [profile.name, profile]));
  for (const row of rows) {
    const profile = byName.get(row.profile);
    if (row.profile && !profile) row.errors.push(`OS Profile "${row.profile}" not found`);
    if (profile && row.secure && (row.secure === 'true') !== (profile.security !== 'NONE')) {
      row.errors.push('OS Profile and Security feature mismatch');
    }
  }
}

/** To check a file needs no server; which profiles there are then stays open. */
async function profilesOf(connection: ServerConnection, isDryRun: boolean): Promise<Profile[] | undefined> {
  try {
    return (await connection.call<{ profiles: Profile[] }>('GET', '/api/v1/profiles')).profiles;
  } catch (thrown) {
    const error = toKindlingError(thrown);
    if (!isDryRun) throw error;
    console.error(`profiles were not checked: ${error.message}`);
    return undefined;
  }
}

function refuseBadRows(file: string, rows: readonly BulkRow[]): void {
  const bad = rows.filter(({ errors }) => errors.length > 0);
  if (bad.length === 0) return;
  const list = bad.map(({ line, errors }) => `line ${line}: ${errors.join('; ')}`);
  throw new KindlingError(
    'KND_CSV_INVALID',
    `${file} has ${bad.length} bad ${bad.length === 1 ? 'row' : 'rows'}\n  ${list.join('\n  ')}`,
  );
}

async function registerRow(
  connection: ServerConnection,
  row: BulkRow,
  autoOnboard: boolean,
): Promise<Outcome> {
  const { serial, uuid, mac, name, profile, site, metadata, ekHash } = row;
  const given = Object.entries({ serial, uuid, mac, name, profile, site, ekHash }).filter(
    ([, value]) => value !== '',
  );
  try {
    const body = { ...Object.fromEntries(given), metadata, autoOnboard };
    const node = await connection.call<NodeView>('POST', '/api/v1/nodes', body);
    return outcome(row, 'registered', node.id);
  } catch (thrown) {
    const error = toKindlingError(thrown);
    const other = error.evidence as Partial<Record<'nodeId' | 'uuid' | 'serial', string>> | undefined;
    const isSame = (!uuid || other?.uuid === uuid.toLowerCase()) && (!serial || other?.serial === serial);
    if (error.code === 'KND_NODE_CONFLICT' && isSame)
      return outcome(row, 'already registered', other?.nodeId ?? '');
    if (error.code === 'KND_STUB_UNREACHABLE') throw error;
    return outcome(row, 'failed', error.message);
  }
}

function outcome(row: BulkRow, result: Outcome['result'], detail: string): Outcome {
  return { line: row.line, node: row.name || row.serial || row.uuid || row.mac, result, detail };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new KindlingError('KND_CSV_INVALID', `${file} cannot be read`, { cause });
  }
}
