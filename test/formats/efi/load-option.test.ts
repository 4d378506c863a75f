import { describe, expect, it } from 'vitest';
import {
  decodeDevicePath,
  encodeDevicePath,
  fileOf,
  hardDriveOf,
  pathToLoader,
} from '../../../formats/efi/device-path.ts';
import { decodeLoadOption, encodeLoadOption } from '../../../formats/efi/load-option.ts';
import fc from '../../seeds/fast-check.ts';

describe('a load option', () => {
  it('decodes and encodes back to the same bytes, for anything decodable', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.string({ unit: fc.constantFrom('a', 'é', ' ', '中'), maxLength: 20 }),
        fc.array(
          fc.record({ type: fc.nat(255), subtype: fc.nat(255), data: fc.uint8Array({ maxLength: 30 }) }),
          { maxLength: 5 },
        ),
        fc.uint8Array({ maxLength: 20 }),
        (attributes, description, nodes, extra) => {
          const bytes = encodeLoadOption({
            attributes,
            description,
            devicePath: nodes.map((node) => ({ ...node, data: Buffer.from(node.data) })),
            optionalData: Buffer.from(extra),
          });
          const decoded = decodeLoadOption(bytes);
          expect(decoded && encodeLoadOption(decoded)).toEqual(bytes);
          expect(decoded?.description).toBe(description);
        },
      ),
    );
  });

  it('never throws on garbage', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        decodeLoadOption(Buffer.from(bytes));
        decodeDevicePath(Buffer.from(bytes));
      }),
    );
  });
});

describe('a path to a loader', () => {
  const drive = {
    partition: 15,
    startLba: 2048n,
    sizeLba: 217_088n,
    partUuid: 'f0e1d2c3-b4a5-9687-7869-5a4b3c2d1e0f',
  };
  it('names the partition by its GUID and the file, in the bytes of UEFI 2.10', () => {
    const bytes = encodeDevicePath(pathToLoader(drive, '\\EFI\\a'));
    expect(bytes.toString('hex')).toBe(
      '04012a000f00000000080000000000000050030000000000' + // media, hard drive, 42 bytes; number, start, size
        'c3d2e1f0a5b487967869' +
        '5a4b3c2d1e0f' +
        '0202' + // GUID with its first three fields swapped; GPT, GUID
        '040412005c004500460049005c0061000000' +
        '7fff0400',
    );
  });

  it('reads back', () => {
    const nodes = decodeDevicePath(encodeDevicePath(pathToLoader(drive, '\\EFI\\BOOT\\BOOTX64.EFI')));
    expect(hardDriveOf(nodes)).toEqual(drive);
    expect(fileOf(nodes)).toBe('\\EFI\\BOOT\\BOOTX64.EFI');
  });
});
