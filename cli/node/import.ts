import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { EXAMPLE_LIST } from '../../orchestrator-stub/imports/machine-list.ts';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import type {
  ImportAnswer,
  ImportEvent,
  ImportRow,
  ImportSummary,
  RowOutcome,
  RowVerdict,
} from '../../protocol/imports.ts';
import { type ConnectionOptions, ServerConnection } from '../server-connection.ts';
import { formatTable } from '../table.ts';

interface ImportOptions extends ConnectionOptions {
  dryRun?: boolean;
  skipBad?: boolean;
  undo?: string;
  example?: boolean;
  manual?: boolean;
}

const VERDICT_WORDS: Readonly<Record<RowVerdict, string>> = {
  new: 'would be registered',
  changed: 'would be changed',
  same: 'already registered',
  bad: 'refused',
};

const OUTCOME_WORDS: Readonly<Record<RowOutcome, string>> = {
  registered: 'registered',
  changed: 'changed',
  unchanged: 'already registered',
  failed: 'failed',
  undone: 'undone',
};

/** Registers every machine of a CSV file: 1 the server judges every row  2 bad rows stop it  3 it imports  4 what became of each. */
export async function importNodes(file: string | undefined, options: ImportOptions): Promise<void> {
  if (options.example) return void process.stdout.write(EXAMPLE_LIST);
  const connection = new ServerConnection(options);
  if (options.undo !== undefined) return undo(connection, options.undo);
  if (file === undefined) throw new KindlingError('KND_USAGE', 'say which file; --example prints one');
  const query = new URLSearchParams({
    file: basename(file).slice(0, 200),
    autoOnboard: String(!options.manual),
  });
  const checked = await connection.sendFile<ImportAnswer>(
    `/api/v1/imports?${query}`,
    'text/csv',
    readBytes(file),
  );
  const hasBad = checked.verdicts.bad > 0;
  if (options.dryRun || (hasBad && !options.skipBad)) {
    if (options.dryRun || options.output === 'json') print(checked, options);
    if (hasBad) throw badRows(file, checked);
    return;
  }
  const path = `/api/v1/imports/${checked.id}`;
  await connection.call('POST', `${path}/start?skipBad=${String(options.skipBad ?? false)}`);
  await untilDone(connection, checked.id);
  const imported = await connection.call<ImportAnswer>('GET', path);
  print(imported, options);
  await keepRejected(connection, file, imported);
}

async function undo(connection: ServerConnection, id: string): Promise<void> {
  const { outcomes } = await connection.call<ImportSummary>(
    'POST',
    `/api/v1/imports/${encodeURIComponent(id)}/undo`,
  );
  console.log(`${outcomes.undone} rows undone`);
}

/** Asked once per connection, when it listens already: an import that was faster than the connection is done then. */
async function untilDone(connection: ServerConnection, id: string): Promise<void> {
  const done = new AbortController();
  const events = connection.events('/api/v1/events?types=import', {
    signal: done.signal,
    onOpen: async () => {
      const { state } = await connection.call<ImportSummary>('GET', `/api/v1/imports/${id}?limit=1`);
      if (state !== 'running') done.abort();
    },
    onLost: (reason) => console.error(toErrorReport(reason).message),
  });
  for await (const { type, data } of events) {
    if (type !== 'import') continue;
    const { importId, state } = data as ImportEvent;
    if (importId === id && state !== 'running') done.abort();
  }
}

function print({ id, rows }: ImportAnswer, { output }: ImportOptions): void {
  const shown = rows.map((row) => ({
    line: row.line,
    node: row.node,
    result: row.outcome === null ? VERDICT_WORDS[row.verdict] : OUTCOME_WORDS[row.outcome],
    detail: detailOf(row),
    nodeId: row.nodeId,
  }));
  if (output === 'json') {
    console.log(JSON.stringify(shown, null, 2));
    return;
  }
  console.log(
    formatTable(shown, [
      ['LINE', ({ line }) => line],
      ['NODE', ({ node }) => node],
      ['RESULT', ({ result }) => result],
      ['DETAIL', ({ detail }) => detail],
    ]),
  );
  if (rows.some(({ outcome }) => outcome === 'registered' || outcome === 'changed'))
    console.log(`import ${id}; to take it back: kindling node import --undo ${id}`);
}

function detailOf({ faults, changes, detail, nodeId, outcome }: ImportRow): string {
  if (faults.length > 0) return faults.map(({ message }) => message).join('; ');
  if (detail !== '') return detail;
  if (changes.length > 0)
    return changes.map(({ field, from, to }) => `${field}: ${from || '(none)'} → ${to}`).join(', ');
  return outcome === null ? '' : (nodeId ?? '');
}

/** What was not imported lies beside the file, to be corrected and imported as it is. */
async function keepRejected(
  connection: ServerConnection,
  file: string,
  { id, total, verdicts, outcomes }: ImportAnswer,
): Promise<void> {
  const rejected = verdicts.bad + outcomes.failed;
  if (rejected === 0) return;
  const kept = `${file.replace(/\.csv$/i, '')}.errors.csv`;
  writeFileSync(kept, await connection.text(`/api/v1/imports/${id}/errors.csv`));
  throw new KindlingError('KND_NODE_CONFLICT', `${rejected} of ${total} rows were not imported`, {
    hint: `They are in ${kept} with the reasons: correct them there and import that file.`,
  });
}

function badRows(file: string, { rows, verdicts: { bad } }: ImportAnswer): KindlingError {
  const list = rows
    .filter(({ verdict }) => verdict === 'bad')
    .map((row) => `line ${row.line}: ${detailOf(row)}`);
  return new KindlingError(
    'KND_CSV_INVALID',
    `${file} has ${bad} bad ${bad === 1 ? 'row' : 'rows'}\n  ${list.join('\n  ')}`,
    { hint: 'Correct them, or import the others with --skip-bad. Nothing was imported.' },
  );
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new KindlingError('KND_CSV_INVALID', `${file} cannot be read`, { cause });
  }
}
