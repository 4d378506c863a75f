import { MAC_PATTERN, SERIAL_PATTERN, UUID_PATTERN } from '../../orchestrator-stub/nodes/registration.ts';
import { KindlingError } from '../../protocol/error.ts';
import { parseCsv } from './csv.ts';

/** One machine of a bulk registration. */
export interface BulkRow {
  /** Counted from 1, as people count the rows below the header. */
  row: number;
  serial: string;
  uuid: string;
  mac: string;
  name: string;
  profile: string;
  site: string;
  secure: string;
  metadata: Record<string, string>;
  errors: string[];
}

/** Columns of EMF's tools, old (8) and new (13), plus Name and MAC; the case of a heading does not matter. */
const KNOWN = ['serial', 'uuid', 'mac', 'name', 'osprofile', 'site', 'secure', 'metadata'];
const IGNORED = ['remoteuser', 'lvmsize', 'cloudinitmeta', 'k8senable', 'k8sclustertemplate', 'k8sconfig'];
const ERROR_COLUMN = /^error/;

export interface BulkFile {
  rows: BulkRow[];
  /** Columns that hold something this orchestrator does not use. */
  unused: string[];
}

/** Reads and checks a whole file; every row keeps its faults, in the words of EMF's tool. */
export function readBulkFile(text: string): BulkFile {
  const [header, ...lines] = parseCsv(text);
  if (!header) throw new KindlingError('KND_CSV_INVALID', 'the file is empty');
  const columns = header.map((heading) => heading.toLowerCase().replaceAll(/[\s_-]/g, ''));
  const strangers = header.filter(
    (_heading, index) =>
      ![...KNOWN, ...IGNORED].includes(columns[index] ?? '') && !ERROR_COLUMN.test(columns[index] ?? ''),
  );
  if (strangers.length > 0) {
    throw new KindlingError(
      'KND_CSV_INVALID',
      `the header has columns nobody knows: ${strangers.join(', ')}`,
    );
  }
  const rows = lines.map((line, index) => readRow(line, columns, index + 1));
  markDuplicates(rows, 'serial', 'Serial number');
  markDuplicates(rows, 'uuid', 'UUID');
  markDuplicates(rows, 'mac', 'MAC');
  const unused = header.filter(
    (_heading, column) => IGNORED.includes(columns[column] ?? '') && lines.some((line) => line[column]),
  );
  return { rows, unused };
}

function readRow(line: readonly string[], columns: readonly string[], row: number): BulkRow {
  const cell = (name: string) => line[columns.indexOf(name)] ?? '';
  const errors: string[] = [];
  const [serial, uuid, mac] = [cell('serial'), cell('uuid'), cell('mac')];
  if (serial && !SERIAL_PATTERN.test(serial)) errors.push('Invalid Serial number');
  if (uuid && !UUID_PATTERN.test(uuid)) errors.push('Invalid UUID');
  if (mac && !MAC_PATTERN.test(mac)) errors.push('Invalid MAC');
  if (!serial && !uuid && !mac) errors.push('One of Serial number, UUID or MAC required');
  const secure = cell('secure').toLowerCase();
  // EMF's tool silently takes anything but true and false as «not said».
  if (secure && secure !== 'true' && secure !== 'false') errors.push('Secure must be true or false');
  const metadata: Record<string, string> = {};
  for (const pair of cell('metadata').split('&').filter(Boolean)) {
    const [key = '', value, ...more] = pair.split('=');
    if (!key || value === undefined || more.length > 0) errors.push('Invalid Metadata');
    else metadata[key] = value;
  }
  return {
    row,
    serial,
    uuid,
    mac,
    name: cell('name'),
    profile: cell('osprofile'),
    site: cell('site'),
    secure,
    metadata,
    errors,
  };
}

function markDuplicates(rows: readonly BulkRow[], key: 'serial' | 'uuid' | 'mac', what: string): void {
  const first = new Map<string, number>();
  for (const row of rows) {
    const value = row[key].toLowerCase();
    if (!value) continue;
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, row.row);
    else row.errors.push(`Duplicate ${what} : Row ${earlier}`);
  }
}
