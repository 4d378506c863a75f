import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';

/** One term of a selector: whether a disk fits, and the term as it was written, for the verdict. */
interface SelectorTerm {
  text: string;
  matches(disk: Disk): boolean;
}

/** A parsed KINDLING_DISK: conditions that all must hold, and what to do when several disks hold them. */
export interface DiskSelector {
  terms: SelectorTerm[];
  /** Without one, several matching disks are an error. */
  preference?: 'smallest' | 'largest';
}

const UNITS: Record<string, number> = {
  '': 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  KI: 2 ** 10,
  MI: 2 ** 20,
  GI: 2 ** 30,
  TI: 2 ** 40,
};

const WORDS: Record<string, (disk: Disk) => boolean> = {
  ssd: (disk) => !disk.isRotational,
  hdd: (disk) => disk.isRotational,
  empty: (disk) => disk.partitionTable === undefined && disk.signatures.length === 0,
  network: (disk) => disk.network !== undefined,
};

const FIELDS: Record<string, (disk: Disk) => readonly (string | undefined)[]> = {
  serial: (disk) => [disk.serial],
  wwn: (disk) => [disk.wwn, disk.wwn?.replace(/^[a-z]+\./, '')],
  model: (disk) => [disk.model],
  vendor: (disk) => [disk.vendor],
  bus: (disk) => [disk.bus],
  name: (disk) => [disk.name],
  path: (disk) => [disk.path, ...disk.links, ...disk.links.map((link) => link.split('/').at(-1))],
};

/**
 * Reads a disk selector: terms joined by commas or blanks, all of which must hold.
 *   serial=S5GXNX0W*   wwn=…  model="Samsung SSD*"  vendor=…  bus=nvme  path=pci-0000:02:00.0-nvme-1   (globs, any case; != negates)
 *   size>=100G  size<2Ti   ssd  hdd  empty  !empty   network   and, where several fit: smallest | largest
 */
export function parseDiskSelector(text: string): DiskSelector {
  const selector: DiskSelector = { terms: [] };
  for (const word of splitTerms(text)) {
    if (word === 'smallest' || word === 'largest') selector.preference = word;
    else selector.terms.push(parseTerm(word));
  }
  if (selector.terms.length === 0 && !selector.preference) throw invalid(text, 'it is empty');
  return selector;
}

/** Whether it says `network`: without that no network disk is taken, whatever else fits. */
export function asksForNetwork({ terms }: DiskSelector): boolean {
  return terms.some(({ text }) => text === 'network');
}

function splitTerms(text: string): string[] {
  const terms = text.match(/(?:"[^"]*"|'[^']*'|[^\s,"'])+/g) ?? [];
  const quotes = text.match(/["']/g)?.length ?? 0;
  if (quotes % 2 !== 0) throw invalid(text, 'a quote is not closed');
  return terms.map((term) => term.replaceAll(/["']/g, ''));
}

function parseTerm(term: string): SelectorTerm {
  const isNegated = term.startsWith('!');
  const word = WORDS[isNegated ? term.slice(1) : term];
  if (word) return { text: term, matches: (disk) => word(disk) !== isNegated };

  const size = /^size(>=|<=|=|>|<)(\d+(?:\.\d+)?)([KMGT]?i?)B?$/i.exec(term);
  if (size) {
    const [, operator = '=', number = '0', unit = ''] = size;
    const bytes = Number(number) * (UNITS[unit.toUpperCase()] ?? Number.NaN);
    if (!Number.isFinite(bytes)) throw invalid(term, `the unit ${unit} is unknown`);
    return { text: term, matches: (disk) => compare(disk.sizeBytes, operator, bytes) };
  }

  const field = /^([a-z]+)(!?=)(.+)$/.exec(term);
  const read = FIELDS[field?.[1] ?? ''];
  if (!field || !read)
    throw invalid(
      term,
      `known are ${[...Object.keys(FIELDS), 'size', ...Object.keys(WORDS), 'smallest', 'largest'].join(', ')}`,
    );
  const glob = globToRegExp(field[3] ?? '');
  const isWanted = field[2] === '=';
  return {
    text: term,
    matches: (disk) =>
      read(disk).some((value) => value !== undefined && glob.test(value.trim())) === isWanted,
  };
}

function compare(size: number, operator: string, bound: number): boolean {
  switch (operator) {
    case '>=':
      return size >= bound;
    case '<=':
      return size <= bound;
    case '>':
      return size > bound;
    case '<':
      return size < bound;
    default:
      // Nobody writes a disk's size to the byte: "size=500G" means what the label says, within 1 %.
      return Math.abs(size - bound) <= bound / 100;
  }
}

function globToRegExp(glob: string): RegExp {
  const pattern = glob
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${pattern}$`, 'i');
}

function invalid(text: string, why: string): KindlingError {
  return new KindlingError('KND_DISK_SELECTOR', `the disk selector "${text}" cannot be read: ${why}`);
}
