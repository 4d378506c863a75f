import { type CsvDelimiter, type CsvRow, delimiterOf, parseCsv } from '../../formats/csv.ts';
import { whyJunkUuid } from '../../formats/junk-identity.ts';
import { normalizeMac } from '../../formats/mac-address.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { RowFault } from '../../protocol/imports.ts';
import { EK_HASH_PATTERN, MAC_PATTERN, UUID_PATTERN } from '../nodes/registration.ts';
import { isSerial, SERIAL_RULE } from '../nodes/serial.ts';

/** Columns of EMF's tools, old (8) and new (13), then ours. As people write them; case, spaces and dashes do not matter. */
const HEADINGS = [
  'Serial',
  'UUID',
  'OSProfile',
  'Site',
  'Secure',
  'RemoteUser',
  'Metadata',
  'LVMSize',
  'CloudInitMeta',
  'K8sEnable',
  'K8sClusterTemplate',
  'K8sConfig',
  'MAC',
  'Name',
  'EKHash',
] as const;
export type Heading = (typeof HEADINGS)[number];

/** The last column of EMF's files, and of our error files: what it says is about an earlier try. */
const ERROR_COLUMN = /^error/;

/** More machines than one site has; a list of this length takes a minute to import. */
export const MAX_ROWS = 10_000;
const MAX_NAME = 120;
const MAX_METADATA_KEY = 200;
const MAX_METADATA_VALUE = 1000;

/** One machine of a list, as the file says it. */
export interface ListedMachine {
  line: number;
  cells: string[];
  /** What a column says of it; empty where the file has no such column, or nothing in the cell. */
  cell: (heading: Heading) => string;
  /** Where a column is in the file. */
  column: (heading: Heading) => number | null;
  metadata: Record<string, string>;
  faults: RowFault[];
}

export interface MachineList {
  columns: string[];
  delimiter: CsvDelimiter;
  machines: ListedMachine[];
}

/** For `kindling node import --example` and the import screen. */
export const EXAMPLE_LIST = `Serial,UUID,MAC,Name,OSProfile,Site,Metadata
ABC12345,,,till-101,edge,berlin,floor=2&line=a
,6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5,,till-102,,berlin,
,,52:54:00:12:34:56,till-103,,berlin,
`;

/** Reads a list and finds what is wrong with each row by itself and beside the other rows, in the words of EMF's tool. */
export function readMachineList(text: string, isStrict = false): MachineList {
  const delimiter = delimiterOf(text);
  const [first, ...lines] = parseCsv(text, delimiter);
  if (!first) throw new KindlingError('KND_CSV_INVALID', 'the file is empty');
  const columns = first.fields;
  checkHeader(columns);
  if (lines.length > MAX_ROWS) {
    throw new KindlingError('KND_CSV_INVALID', `the file has ${lines.length} rows; ${MAX_ROWS} are taken`, {
      hint: 'Split the file.',
    });
  }
  const machines = lines.map((line) => readMachine(line, columns, isStrict));
  for (const heading of ['Serial', 'UUID', 'MAC', 'EKHash', 'Name'] as const) {
    markDuplicates(machines, heading);
  }
  return { columns, delimiter, machines };
}

/** What one row says. Also reads the row of an import that was checked earlier. */
export function readMachine(
  { line, fields }: CsvRow,
  columns: readonly string[],
  isStrict: boolean,
): ListedMachine {
  const known = columns.map(headingOf);
  const column = (heading: Heading) => {
    const index = known.indexOf(heading);
    return index < 0 ? null : index;
  };
  const cell = (heading: Heading) => fields[known.indexOf(heading)] ?? '';
  const faults: RowFault[] = [];
  const blame = (heading: Heading, message: string) => faults.push({ column: column(heading), message });
  judgeIdentity(cell, blame, isStrict);
  if (!cell('Serial') && !cell('UUID') && !cell('MAC'))
    faults.push({ column: null, message: 'One of Serial number, UUID or MAC required' });
  judgeRest(cell, blame);
  const metadata = readMetadata(cell('Metadata'), (message) => blame('Metadata', message));
  const surplus = fields.slice(columns.length).filter((field) => field !== '');
  if (surplus.length > 0)
    faults.push({ column: null, message: `More cells than columns: "${surplus.join(', ')}"` });
  return { line, cells: [...fields], cell, column, metadata, faults };
}

/** What a person calls the machine. */
export function nameOfMachine({ cell }: ListedMachine): string {
  return cell('Name') || cell('Serial') || cell('UUID') || cell('MAC');
}

/** Whether a column only tells what went wrong with an earlier try. */
export function isErrorColumn(column: string): boolean {
  return ERROR_COLUMN.test(bare(column));
}

function checkHeader(columns: readonly string[]): void {
  const strangers = columns.filter((column) => !headingOf(column) && !isErrorColumn(column));
  if (strangers.length > 0) {
    throw new KindlingError(
      'KND_CSV_INVALID',
      `the header has unknown columns: ${strangers.map((each) => each || '(no name)').join(', ')}`,
      { hint: `Known are ${HEADINGS.join(', ')}. Example: kindling node import --example.` },
    );
  }
  const names = columns.map((column) => headingOf(column) ?? 'Error');
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new KindlingError('KND_CSV_INVALID', `the header has the column ${twice} twice`, {
      hint: 'Remove one of the two: which one counts cannot be guessed.',
    });
  }
}

function headingOf(column: string): Heading | undefined {
  return HEADINGS.find((heading) => bare(heading) === bare(column));
}

function bare(column: string): string {
  return column.toLowerCase().replaceAll(/[\s_-]/g, '');
}

type Cell = ListedMachine['cell'];
type Blame = (heading: Heading, message: string) => void;

function judgeIdentity(cell: Cell, blame: Blame, isStrict: boolean): void {
  const [serial, uuid, mac, ekHash] = [cell('Serial'), cell('UUID'), cell('MAC'), cell('EKHash')];
  if (serial && !isSerial(serial, isStrict)) {
    const rule = isStrict ? 'with --strict it has 5 to 20 letters and digits' : SERIAL_RULE;
    blame('Serial', `Invalid Serial number "${serial}": ${rule}`);
  }
  const junk = whyJunkUuid(uuid.toLowerCase());
  if (uuid && !UUID_PATTERN.test(uuid))
    blame('UUID', `Invalid UUID "${uuid}": 32 hexadecimal digits with dashes, 8-4-4-4-12`);
  else if (uuid && junk) blame('UUID', `Invalid UUID "${uuid}": it identifies no machine, it is ${junk}`);
  if (mac && !MAC_PATTERN.test(mac)) blame('MAC', `Invalid MAC "${mac}": it looks like 52:54:00:12:34:56`);
  if (ekHash && !EK_HASH_PATTERN.test(ekHash))
    blame('EKHash', `Invalid EKHash "${ekHash}": 64 hexadecimal digits, the SHA-256 of the endorsement key`);
}

function judgeRest(cell: Cell, blame: Blame): void {
  for (const heading of ['Name', 'Site'] as const) {
    if (cell(heading).length > MAX_NAME) blame(heading, `${heading} is longer than ${MAX_NAME} characters`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    if (/[\u0000-\u001f\u007f]/.test(cell(heading))) blame(heading, `${heading} has control characters`);
  }
  // EMF's tool takes anything but true and false as if nothing was said.
  for (const heading of ['Secure', 'K8sEnable'] as const) {
    if (!/^(true|false|)$/i.test(cell(heading)))
      blame(heading, `${heading} must be true or false, not "${cell(heading)}"`);
  }
  if (!/^\d{0,6}$/.test(cell('LVMSize')))
    blame('LVMSize', `Invalid LVM Size "${cell('LVMSize')}": a number of gigabytes`);
  if (cell('K8sEnable').toLowerCase() === 'true')
    blame('K8sEnable', 'Kindling makes no Kubernetes cluster: leave K8sEnable empty or false');
  for (const heading of ['K8sClusterTemplate', 'K8sConfig'] as const) {
    if (cell(heading)) blame(heading, `Kindling makes no Kubernetes cluster: leave ${heading} empty`);
  }
}

function readMetadata(text: string, blame: (message: string) => void): Record<string, string> {
  const metadata = new Map<string, string>();
  for (const pair of text.split('&').filter(Boolean)) {
    const [key = '', value, ...more] = pair.split('=');
    if (!key || value === undefined || more.length > 0)
      blame(`Invalid Metadata "${pair}": name=value, several joined by &`);
    else if (metadata.has(key)) blame(`Invalid Metadata: "${key}" is there twice`);
    else if (key.length > MAX_METADATA_KEY || value.length > MAX_METADATA_VALUE)
      blame(`Invalid Metadata: "${key.slice(0, 20)}…" is too long`);
    else metadata.set(key, value);
  }
  return Object.fromEntries(metadata);
}

function markDuplicates(machines: readonly ListedMachine[], heading: Heading): void {
  const first = new Map<string, number>();
  for (const { line, cell, column, faults } of machines) {
    const value = heading === 'MAC' ? normalizeMac(cell(heading)) : cell(heading).toLowerCase();
    if (!value) continue;
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, line);
    else {
      const what = heading === 'Serial' ? 'Serial number' : heading;
      faults.push({
        column: column(heading),
        message: `Duplicate ${what} "${cell(heading)}": also in line ${earlier}`,
      });
    }
  }
}
