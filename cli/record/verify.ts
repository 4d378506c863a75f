import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { checkRecord } from '../../protocol/check-record.ts';
import { KindlingError } from '../../protocol/error.ts';
import { decodePublicKey } from '../../protocol/public-key.ts';
import {
  BATCH_DOMAIN,
  BATCH_LIST_PATH,
  type BatchList,
  type ShippingRecord,
  type SignedRecord,
} from '../../protocol/shipping-record.ts';
import { openDocument } from '../../protocol/signed-document.ts';
import { printable } from '../table.ts';
import { type BatchFile, isGzip, unpackBatch } from './unpack-batch.ts';

/** Checks a record, a list of records, or a batch. Prints a line for each record; refuses the whole when anything is not as signed. */
export async function verifyFile(file: string, keys: readonly string[]): Promise<void> {
  const wrongKey = keys.find((key) => !decodePublicKey(key));
  if (wrongKey !== undefined)
    throw new KindlingError('KND_USAGE', `${wrongKey} is no key of "kindling record keys"`);
  if (keys.length === 0)
    throw new KindlingError(
      'KND_USAGE',
      'say whose signature it must be: --key, from "kindling record keys"',
    );
  const bytes = readFileSync(file);
  const { lines, faults } = isGzip(bytes)
    ? checkBatch(await unpackBatch(bytes), keys)
    : checkRecords(bytes.toString(), keys);
  for (const line of lines) console.log(printable(line));
  for (const fault of faults) console.log(printable(`NOT AS SIGNED  ${fault}`));
  const [first] = faults;
  if (first === undefined) return;
  throw new KindlingError(
    'KND_RECORD_INVALID',
    `${file} cannot be believed: ${first}${faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''}`,
  );
}

interface Verdict {
  lines: string[];
  faults: string[];
}

function checkRecords(text: string, keys: readonly string[]): Verdict {
  const value = parsed(text);
  const records = (Array.isArray(value) ? value : [value]) as unknown[];
  const verdicts = records.map((one, index) =>
    judge(one, records.length > 1 ? `record ${index + 1}: ` : '', keys),
  );
  const nothing = records.length === 0 ? ['it holds no record'] : [];
  return {
    lines: verdicts.flatMap(({ lines }) => lines),
    faults: [...nothing, ...verdicts.flatMap(({ faults }) => faults)],
  };
}

/** 1 the list is the site's  2 every file is as listed, none is missing, none was added  3 every record is genuine by itself. */
function checkBatch(files: readonly BatchFile[], keys: readonly string[]): Verdict {
  const bytesOf = (path: string) => files.find((file) => file.path === path)?.bytes;
  const textOf = (path: string) => bytesOf(path)?.toString() ?? '';
  const opened = openDocument(BATCH_DOMAIN, textOf(BATCH_LIST_PATH), keys);
  if (opened.kind !== 'genuine') return { lines: [], faults: [`${BATCH_LIST_PATH}: ${whyNot(opened.kind)}`] };
  const list = opened.value as BatchList;
  const listed = Object.entries(list.files);
  const faults = [
    ...listed.flatMap(([path, digest]) => {
      const bytes = bytesOf(path);
      if (bytes === undefined) return [`${path} is missing`];
      return sha256(bytes) === digest ? [] : [`${path} was changed`];
    }),
    ...files
      .filter(({ path }) => path !== BATCH_LIST_PATH && !Object.hasOwn(list.files, path))
      .map(({ path }) => `${path} was added`),
  ];
  const verdicts = listed
    .filter(([path]) => path.endsWith('/record.json'))
    .map(([path]) => judge(parsed(textOf(path)), `${path}: `, keys));
  return {
    lines: verdicts.flatMap(({ lines }) => lines),
    faults: [...faults, ...verdicts.flatMap((verdict) => verdict.faults)],
  };
}

function judge(value: unknown, where: string, keys: readonly string[]): Verdict {
  if (!isSignedRecord(value)) return { lines: [], faults: [`${where}it is no signed record`] };
  const verdict = checkRecord(value, keys);
  switch (verdict.kind) {
    case 'genuine':
      return { lines: [describe(verdict.record)], faults: [] };
    case 'changed':
      return { lines: [], faults: verdict.differences.map((difference) => `${where}${difference}`) };
    default:
      return { lines: [], faults: [`${where}${whyNot(verdict.kind)}`] };
  }
}

function whyNot(kind: 'foreign' | 'changed' | 'unreadable'): string {
  if (kind === 'foreign') return 'another key has signed it';
  return kind === 'changed'
    ? 'it was changed after it was signed'
    : 'it is missing, or is no signed document';
}

function describe({ node, system, outcome, madeAt }: ShippingRecord): string {
  const what = `${node.name} (${node.serial ?? node.id})`;
  return `genuine  ${what}: ${outcome.status}, ${system.profile ?? 'no profile'}, generation ${system.generation}; as of ${madeAt}`;
}

function isSignedRecord(value: unknown): value is SignedRecord {
  return (
    typeof value === 'object' &&
    value !== null &&
    'record' in value &&
    'seal' in value &&
    typeof value.seal === 'string'
  );
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
