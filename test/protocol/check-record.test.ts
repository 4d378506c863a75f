import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkRecord, sealRecord } from '../../protocol/check-record.ts';
import { encodePublicKey } from '../../protocol/public-key.ts';
import type { SignedRecord } from '../../protocol/shipping-record.ts';
import { EXAMPLE } from '../orchestrator-stub/record/example-record.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const key = encodePublicKey(createPublicKey(privateKey));
const signed = sealRecord(EXAMPLE, [privateKey]);

/** Every value at the end of a branch, by the keys that lead to it. */
function leaves(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}

function withChange(path: readonly string[]): SignedRecord {
  const copy = structuredClone(signed);
  let at: unknown = copy.record;
  for (const name of path.slice(0, -1)) at = Reflect.get(Object(at), name);
  Reflect.set(Object(at), path.at(-1) ?? '', 'forged');
  return copy;
}

test('a record that went through JSON is genuine', () => {
  const copy = JSON.parse(JSON.stringify(signed)) as SignedRecord;
  expect(checkRecord(copy, [key])).toEqual({ kind: 'genuine', record: EXAMPLE });
});

describe('a change is refused and named', () => {
  test.each(leaves(EXAMPLE).map((path) => [path.join('.'), path]))('of %s', (_name, path) => {
    const verdict = checkRecord(withChange(path), [key]);
    expect(verdict).toMatchObject({
      kind: 'changed',
      differences: [expect.stringContaining('is "forged", signed was')],
    });
  });

  test('with the place in the record', () => {
    expect(checkRecord(withChange(['hardware', 'disks', '0', 'serial']), [key])).toEqual({
      kind: 'changed',
      differences: ['record.hardware.disks[0].serial is "forged", signed was "D1"'],
    });
  });

  test('also where something was added or left out', () => {
    const added = { ...signed, record: { ...EXAMPLE, note: 'inspected' } };
    const people = { ...signed, record: { ...EXAMPLE, people: [] } };
    expect(checkRecord(added, [key])).toMatchObject({
      differences: ['record.note is "inspected", signed was not there'],
    });
    expect(checkRecord(people, [key])).toMatchObject({
      differences: [expect.stringMatching(/^record\.people\[0\] is not there, signed was \{"at"/)],
    });
  });

  test('in the seal', () => {
    const envelope = JSON.parse(signed.seal) as { payload: string };
    const payload = Buffer.from(JSON.stringify({ ...EXAMPLE, site: 'x' })).toString('base64');
    const forged = { ...signed, seal: JSON.stringify({ ...envelope, payload }) };
    expect(checkRecord(forged, [key])).toEqual({
      kind: 'changed',
      differences: ['the seal itself was changed'],
    });
  });
});

test('a record of another site, and what is no seal at all', () => {
  const other = generateKeyPairSync('ed25519').privateKey;
  expect(checkRecord(sealRecord(EXAMPLE, [other]), [key]).kind).toBe('foreign');
  expect(checkRecord({ ...signed, seal: 'no seal' }, [key]).kind).toBe('unreadable');
});
