import { describe, expect, it } from 'vitest';
import { AtaDrive } from '../../../lab/drives/ata-drive.ts';
import { encodeIscsi, IscsiReader } from '../../../lab/drives/iscsi-pdu.ts';
import { controllerData, PduReader } from '../../../lab/drives/nvme-tcp-pdu.ts';
import { SparseMemory } from '../../../lab/drives/sparse-memory.ts';

const byteByByte = (stream: Buffer) => Array.from(stream, (byte) => Buffer.from([byte]));

describe('PDUs arrive whole, however the stream was cut', () => {
  it('NVMe/TCP', () => {
    const reader = new PduReader();
    const stream = Buffer.concat([controllerData(7, Buffer.from('one')), controllerData(8, Buffer.alloc(0))]);
    const pdus = byteByByte(stream).flatMap((piece) => reader.push(piece));
    expect(pdus.map(({ header, data }) => [header.readUInt16LE(8), data.toString()])).toEqual([
      [7, 'one'],
      [8, ''],
    ]);
  });

  it('iSCSI, with its padding', () => {
    const reader = new IscsiReader();
    const stream = Buffer.concat([
      encodeIscsi(0x25, 0x80, { 16: 7 }, Buffer.from('seven')),
      encodeIscsi(0x21, 0x80, { 16: 8 }),
    ]);
    const pdus = byteByByte(stream).flatMap((piece) => reader.push(piece));
    expect(pdus.map(({ header, data }) => [header.readUInt32BE(16), data.toString()])).toEqual([
      [7, 'seven'],
      [8, ''],
    ]);
  });
});

it('a medium gives back what was written across its pages, and zeros elsewhere', () => {
  const memory = new SparseMemory(1 << 20);
  memory.write(4090, Buffer.from('across the border'));
  expect(memory.read(4089, 19).toString()).toBe('\0across the border\0');
  memory.zero(4090, 17);
  expect(memory.isBlank).toBe(true);
});

it('an ATA drive that is locked counts wrong passwords, and after five takes none until it is switched off', async () => {
  const drive = new AtaDrive({ serial: 'A', sizeBytes: 4096, password: 'right' });
  const unlock = (password: string) => {
    const data = Buffer.alloc(512);
    data.write(password, 2);
    return drive.execute(0xf2, data);
  };
  for (const _ of [1, 2, 3, 4, 5]) expect(await unlock('wrong')).toBe('aborted');
  expect(await unlock('right')).toBe('aborted');
  drive.powerCycle();
  expect(await unlock('right')).toEqual({});
  expect(drive.isLocked).toBe(false);
});
