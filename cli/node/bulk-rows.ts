import { EK_HASH_PATTERN, MAC_PATTERN, UUID_PATTERN } from '../../orchestrator-stub/nodes/registration.ts';
import { isSerial, SERIAL_RULE } from '../../orchestrator-stub/nodes/serial.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type CsvRow, parseCsv } from './csv.ts';

/** One machine of a bulk registration. */
export interface BulkRow {
  /** Its line in the file, as an editor counts: the header is line 1. */
  line: number;
  serial: string;
  uuid: string;
  mac: string;
  name: string;
  profile: string;
  site: string;
  secure: string;
  metadata: Record<string, string>;
  ekHash: string;
  errors: string[];
}

/** Columns of EMF's tools, old (8) and new (13), plus Name, MAC and EKHash (the hash that Teleport's join rules have, too); the case of a heading does not matter. */
/** As people write them. */
const HEADINGS = ['Serial', 'UUID', 'MAC', 'Name', 'OSProfile', 'Site', 'Secure', 'Metadata', 'EKHash'];
const KNOWN = HEADINGS.map((heading) => heading.toLowerCase());
const IGNORED = ['remoteuser', 'lvmsize', 'cloudinitmeta', 'k8senable', 'k8sclustertemplate', 'k8sconfig'];
const ERROR_COLUMN = /^error/;

export interface BulkFile {
  rows: BulkRow[];
  /** Columns that hold something this orchestrator does not use. */
  unused: string[];
}

/** For `kindling node import --example`. */
export const BULK_EXAMPLE = `Serial,UUID,MAC,Name,OSProfile,Site,Metadata
ABC12345,,,till-101,edge,berlin,floor=2&line=a
,6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5,,till-102,,berlin,
,,52:54:00:12:34:56,till-103,,berlin,
`;

/** Reads and checks a whole file; every row keeps its faults, in the words of EMF's tool. */
export function readBulkFile(text: string): BulkFile {
  const [first, ...lines] = parseCsv(text);
  const header = first?.fields;
  if (!header) throw new KindlingError('KND_CSV_INVALID', 'the file is empty');
  const columns = header.map((heading) => heading.toLowerCase().replaceAll(/[\s_-]/g, ''));
  const strangers = header.filter(
    (_heading, index) =>
      ![...KNOWN, ...IGNORED].includes(columns[index] ?? '') && !ERROR_COLUMN.test(columns[index] ?? ''),
  );
  if (strangers.length > 0) {
    throw new KindlingError('KND_CSV_INVALID', `the header has unknown columns: ${strangers.join(', ')}`, {
      hint: `Separate columns by commas; known are ${HEADINGS.join(', ')}. Example: kindling node import --example.`,
    });
  }
  const rows = lines.map((line) => readRow(line, columns));
  markDuplicates(rows, 'serial', 'Serial number');
  markDuplicates(rows, 'uuid', 'UUID');
  markDuplicates(rows, 'mac', 'MAC');
  markDuplicates(rows, 'ekHash', 'EKHash');
  const unused = header.filter(
    (_heading, column) =>
      IGNORED.includes(columns[column] ?? '') && lines.some(({ fields }) => fields[column]),
  );
  return { rows, unused };
}

function readRow({ line, fields }: CsvRow, columns: readonly string[]): BulkRow {
  const cell = (name: string) => fields[columns.indexOf(name)] ?? '';
  const errors: string[] = [];
  const [serial, uuid, mac] = [cell('serial'), cell('uuid'), cell('mac')];
  if (serial && !isSerial(serial)) errors.push(`Invalid Serial number "${serial}": ${SERIAL_RULE}`);
  if (uuid && !UUID_PATTERN.test(uuid))
    errors.push(`Invalid UUID "${uuid}": 32 hexadecimal digits with dashes, 8-4-4-4-12`);
  if (mac && !MAC_PATTERN.test(mac)) errors.push(`Invalid MAC "${mac}": it looks like 52:54:00:12:34:56`);
  if (!serial && !uuid && !mac) errors.push('One of Serial number, UUID or MAC required');
  const secure = cell('secure').toLowerCase();
  // EMF's tool silently takes anything but true and false as «not said».
  if (secure && secure !== 'true' && secure !== 'false')
    errors.push(`Secure must be true or false, not "${secure}"`);
  const ekHash = cell('ekhash');
  if (ekHash && !EK_HASH_PATTERN.test(ekHash))
    errors.push(`Invalid EKHash "${ekHash}": 64 hexadecimal digits, the SHA-256 of the endorsement key`);
  const metadata: Record<string, string> = {};
  for (const pair of cell('metadata').split('&').filter(Boolean)) {
    const [key = '', value, ...more] = pair.split('=');
    if (!key || value === undefined || more.length > 0)
      errors.push(`Invalid Metadata "${pair}": name=value, several joined by &`);
    else metadata[key] = value;
  }
  return {
    line,
    serial,
    uuid,
    mac,
    name: cell('name'),
    profile: cell('osprofile'),
    site: cell('site'),
    secure,
    metadata,
    ekHash,
    errors,
  };
}

function markDuplicates(
  rows: readonly BulkRow[],
  key: 'serial' | 'uuid' | 'mac' | 'ekHash',
  what: string,
): void {
  const first = new Map<string, number>();
  for (const row of rows) {
    const value = row[key].toLowerCase();
    if (!value) continue;
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, row.line);
    else row.errors.push(`Duplicate ${what} "${row[key]}": also in line ${earlier}`);
  }
}
