import { expect, test } from 'vitest';
import {
  bootEntryName,
  decodeEntryNumbers,
  efivarfsFileName,
  efivarfsValue,
  encodeEfivarfsFile,
  encodeEntryNumbers,
} from '../../../formats/efi/variables.ts';
import fc from '../../seeds/fast-check.ts';

test('a variable of the firmware is a file with four bytes of attributes in front', () => {
  expect(efivarfsFileName('BootOrder')).toBe('BootOrder-8be4df61-93ca-11d2-aa0d-00e098032b8c');
  const file = encodeEfivarfsFile(7, Buffer.from('0a00', 'hex'));
  expect(file.toString('hex')).toBe('070000000a00');
  expect(efivarfsValue(file).toString('hex')).toBe('0a00');
});

test('entries have four capital digits in their names', () => {
  expect([0, 0x1a, 0xffff].map(bootEntryName)).toEqual(['Boot0000', 'Boot001A', 'BootFFFF']);
});

test('the numbers of entries decode to what was encoded; half a number at the end is not one', () => {
  expect(encodeEntryNumbers([0x001a, 2]).toString('hex')).toBe('1a000200');
  expect(decodeEntryNumbers(Buffer.from('1a0002', 'hex'))).toEqual([0x1a]);
  expect(decodeEntryNumbers()).toEqual([]);
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff)), (numbers) => {
      expect(decodeEntryNumbers(encodeEntryNumbers(numbers))).toEqual(numbers);
    }),
  );
});
