import type { Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTftpPacket, encodeTftpPacket, type TftpPacket } from '../../../protocol/tftp/packet.ts';
import { readUdpDatagrams } from '../../netboot/dhcp/pcap.ts';
import fc from '../../seeds/fast-check.ts';
import { rounds, testIntegers } from '../../seeds/seeds.ts';

const word = fc.stringMatching(/^[!-~]{1,40}$/);
const options = fc
  .array(fc.tuple(fc.stringMatching(/^[a-z]{1,10}$/), fc.stringMatching(/^[0-9]{1,6}$/)), { maxLength: 4 })
  .map((entries) => new Map(entries));
const packets: Arbitrary<TftpPacket> = fc.oneof(
  fc.record({
    type: fc.constantFrom('read' as const, 'write' as const),
    file: word,
    mode: fc.constantFrom('octet', 'netascii'),
    options,
  }),
  fc.record({
    type: fc.constant('data' as const),
    block: fc.nat(0xffff),
    data: fc.uint8Array({ maxLength: 1468 }).map((bytes) => Buffer.from(bytes)),
  }),
  fc.record({ type: fc.constant('ack' as const), block: fc.nat(0xffff) }),
  fc.record({ type: fc.constant('error' as const), code: fc.nat(8), message: word }),
  fc.record({ type: fc.constant('option-ack' as const), options: options.filter((map) => map.size > 0) }),
);

describe('TFTP packets', () => {
  it('are the same after encoding and decoding', () => {
    fc.assert(
      fc.property(packets, (packet) => {
        expect(decodeTftpPacket(encodeTftpPacket(packet))).toEqual(packet);
      }),
      { numRuns: 300 },
    );
  });

  it('of OVMF and iPXE are read as they were sent', () => {
    const requests = readUdpDatagrams('uefi-pxe-proxydhcp.pcap')
      .filter(({ destinationPort }) => destinationPort === 69)
      .map(({ payload }) => decodeTftpPacket(payload));
    expect(requests[0]).toEqual({
      type: 'read',
      file: 'snponly2.efi',
      mode: 'octet',
      options: new Map([
        ['tsize', '0'],
        ['blksize', '1468'],
        ['windowsize', '4'],
      ]),
    });
    expect(requests.at(-1)).toMatchObject({ file: 'autoexec.ipxe', mode: 'octet' });
  });

  it('that are malformed are refused by name, whatever the bytes (100,000 seeded)', () => {
    const random = testIntegers(7);
    for (let round = 0; round < rounds(100_000); round += 1) {
      const bytes = Buffer.alloc(random(80));
      for (let at = 0; at < bytes.length; at += 1)
        bytes[at] = at === 0 ? 0 : at === 1 ? random(9) : random(256);
      try {
        decodeTftpPacket(bytes);
      } catch (thrown) {
        if ((thrown as { code?: string }).code !== 'KND_TFTP_MALFORMED') throw thrown;
      }
    }
  });
});
