import type { KeyObject } from 'node:crypto';
import { RECORD_DOMAIN, type ShippingRecord, type SignedRecord } from './shipping-record.ts';
import { openDocument, sealDocument } from './signed-document.ts';

export function sealRecord(record: ShippingRecord, keys: readonly KeyObject[]): SignedRecord {
  return { record, seal: sealDocument(RECORD_DOMAIN, record, keys) };
}

export type RecordVerdict =
  | { kind: 'genuine'; record: ShippingRecord }
  /** Each line says what stands there, and what was signed. */
  | { kind: 'changed'; differences: string[] }
  | { kind: 'foreign'; keys: string[] }
  | { kind: 'unreadable' };

/** Whether a record is as one of the trusted keys signed it. */
export function checkRecord({ record, seal }: SignedRecord, trusted: readonly string[]): RecordVerdict {
  const opened = openDocument(RECORD_DOMAIN, seal, trusted);
  if (opened.kind === 'changed') return { kind: 'changed', differences: ['the seal itself was changed'] };
  if (opened.kind !== 'genuine') return opened;
  const differences = differencesOf(record, opened.value, 'record');
  return differences.length > 0
    ? { kind: 'changed', differences }
    : { kind: 'genuine', record: opened.value as ShippingRecord };
}

/** Where two JSON values differ, as lines for a person. */
function differencesOf(found: unknown, signed: unknown, at: string): string[] {
  if (!isBranch(found) || !isBranch(signed) || Array.isArray(found) !== Array.isArray(signed)) {
    return Object.is(found, signed) ? [] : [`${at} is ${shown(found)}, signed was ${shown(signed)}`];
  }
  const keys = new Set([...Object.keys(found), ...Object.keys(signed)]);
  return [...keys].flatMap((key) =>
    differencesOf(
      Object.getOwnPropertyDescriptor(found, key)?.value,
      Object.getOwnPropertyDescriptor(signed, key)?.value,
      Array.isArray(signed) ? `${at}[${key}]` : `${at}.${key}`,
    ),
  );
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const SHOWN_CHARACTERS = 100;

function shown(value: unknown): string {
  if (value === undefined) return 'not there';
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
