import { expect, test } from 'vitest';
import { partUuidOfLoadOption, readBootMedium } from '../../../agent/inventory/boot-medium.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';
import { machineFiles } from '../../../system/machine-files.ts';
import fc from '../../seeds/fast-check.ts';
import { MadeUpMachine } from './hardware-zoo.ts';

const GUID = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';
const GUID_BYTES = Buffer.from('28732ac11ff8d211ba4b00a0c93ec93b', 'hex');

/** A load option as firmware writes it: attributes, length, description, then PCI, hard drive, file and end nodes. */
function loadOption(signatureType = 2): Buffer {
  const hardDrive = Buffer.alloc(42);
  hardDrive.writeUInt8(4, 0);
  hardDrive.writeUInt8(1, 1);
  hardDrive.writeUInt16LE(42, 2);
  GUID_BYTES.copy(hardDrive, 24);
  hardDrive.writeUInt8(signatureType, 41);
  const pci = Buffer.from([1, 1, 6, 0, 0, 0x1d]);
  const end = Buffer.from([0x7f, 0xff, 4, 0]);
  const path = Buffer.concat([pci, hardDrive, end]);
  return Buffer.concat([
    Buffer.from([1, 0, 0, 0, path.length, 0]),
    Buffer.from('USB stick\0', 'utf16le'),
    path,
  ]);
}

test('the partition of a boot entry, if it is a GPT one', () => {
  expect(partUuidOfLoadOption(loadOption())).toBe(GUID);
  expect(partUuidOfLoadOption(loadOption(1))).toBeUndefined();
});

test('any bytes are read without an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void partUuidOfLoadOption(Buffer.from(bytes))),
  );
});

test('from the current boot entry, from the stub of the UKI, and from the kernel command line', () => {
  using box = new MadeUpMachine()
    .efiVariable('BootCurrent', Buffer.from([0x0a, 0x00]))
    .efiVariable('Boot000A', loadOption())
    .efiVariable(
      'LoaderDevicePartUUID',
      Buffer.from('AAAAAAAA-0000-0000-0000-000000000001\0', 'utf16le'),
      '4a67b082-0a4c-41cf-b6c7-440b29bb8c4f',
    );
  expect(readBootMedium(machineFiles(box.root), parseKernelArguments('kindling.medium=KINDLING'))).toEqual({
    partUuids: ['aaaaaaaa-0000-0000-0000-000000000001', GUID, 'kindling'],
    names: ['KINDLING'],
  });
});
