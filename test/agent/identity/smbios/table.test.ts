import { expect, test } from 'vitest';
import { parseMemoryDevice } from '../../../../agent/identity/smbios/memory-device.ts';
import { parseSystemInformation, swapUuid } from '../../../../agent/identity/smbios/system-information.ts';
import { parseSmbiosTable } from '../../../../agent/identity/smbios/table.ts';
import { parseSmbiosVersion } from '../../../../agent/identity/smbios/version.ts';
import fc from '../../../seeds/fast-check.ts';
import { buildTable, entryPoint, type StructureSpec } from './smbios-table.ts';

const only = (spec: StructureSpec) => {
  const [structure] = parseSmbiosTable(buildTable([spec]));
  if (!structure) throw new Error('no structure');
  return structure;
};

test('structures and their strings, with and without any', () => {
  const found = parseSmbiosTable(
    buildTable([
      { type: 2, length: 15, strings: { 4: 'Maker', 7: 'SN-1' } },
      { type: 32, length: 11 },
      { type: 3, length: 22, strings: { 7: 'C-1' } },
    ]),
  );
  expect(found.map(({ type, strings }) => [type, strings])).toEqual([
    [2, ['Maker', 'SN-1']],
    [32, []],
    [3, ['C-1']],
    [127, []],
  ]);
});

const UUID_BYTES = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const SYSTEM: StructureSpec = {
  type: 1,
  length: 27,
  strings: { 4: 'Maker', 5: 'Box', 7: ' SN-1 ' },
  raw: { 8: UUID_BYTES },
};

test('the UUID is little-endian in its first three fields since 2.6, and plain before', () => {
  const uuidAt = (major: number, minor: number) =>
    parseSystemInformation(only(SYSTEM), parseSmbiosVersion(entryPoint(major, minor))).uuid;
  expect(uuidAt(2, 8)).toBe('33221100-5544-7766-8899-aabbccddeeff');
  expect(uuidAt(3, 3)).toBe('33221100-5544-7766-8899-aabbccddeeff');
  expect(uuidAt(2, 4)).toBe('00112233-4455-6677-8899-aabbccddeeff');
});

test('swapping a UUID twice gives it back', () => {
  fc.assert(fc.property(fc.uuid(), (uuid) => swapUuid(swapUuid(uuid)) === uuid));
});

test('texts lose their padding, and an old structure without a UUID has none', () => {
  expect(parseSystemInformation(only(SYSTEM), undefined).serial).toBe('SN-1');
  expect(
    parseSystemInformation(only({ type: 1, length: 8, strings: { 4: 'Maker' } }), undefined).uuid,
  ).toBeUndefined();
});

test.each([
  [
    '16 GiB DDR4',
    { words: { 12: 16384, 21: 3200 }, bytes: { 18: 0x1a } },
    { sizeBytes: 16 * 2 ** 30, type: 'DDR4', speedMtps: 3200 },
  ],
  [
    '64 GiB, in the extended size',
    { words: { 12: 0x7fff }, doubleWords: { 28: 65536 } },
    { sizeBytes: 64 * 2 ** 30 },
  ],
  ['512 KiB', { words: { 12: 0x8200 } }, { sizeBytes: 512 * 1024 }],
])('a memory module of %s', (_name, fields, expected) => {
  expect(parseMemoryDevice(only({ type: 17, length: 40, ...fields }))).toMatchObject(expected);
});

test('an empty slot is no module', () => {
  expect(parseMemoryDevice(only({ type: 17, length: 40 }))).toBeUndefined();
});

test('any bytes are read without an error, and every whole structure before a cut is kept', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void parseSmbiosTable(Buffer.from(bytes))),
  );
  const table = buildTable([SYSTEM, { type: 2, length: 15, strings: { 7: 'x' } }]);
  fc.assert(
    fc.property(fc.integer({ min: 60, max: table.length }), (cut) => {
      expect(parseSmbiosTable(table.subarray(0, cut))[0]?.strings).toEqual(['Maker', 'Box', ' SN-1 ']);
    }),
  );
});
