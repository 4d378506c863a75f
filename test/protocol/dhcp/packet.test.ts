import type { Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DhcpOption } from '../../../protocol/dhcp/options.ts';
import { type DhcpPacket, decodeDhcpPacket, encodeDhcpPacket, macOf } from '../../../protocol/dhcp/packet.ts';
import { readUdpDatagrams } from '../../netboot/dhcp/pcap.ts';
import fc from '../../seeds/fast-check.ts';
import { rounds, testIntegers } from '../../seeds/seeds.ts';

const CAPTURES = ['uefi-pxe-proxydhcp.pcap', 'uefi-httpboot-dhcp.pcap', 'bios-ipxe-rom-proxydhcp.pcap'];
const DHCP_PORTS = [67, 68, 4011];

const address = fc.ipV4();
const packets: Arbitrary<DhcpPacket> = fc.record({
  op: fc.constantFrom(1 as const, 2 as const),
  hardwareType: fc.nat(255),
  hops: fc.nat(255),
  transactionId: fc.nat(0xffffffff),
  seconds: fc.nat(0xffff),
  flags: fc.nat(0xffff),
  clientAddress: address,
  yourAddress: address,
  nextServerAddress: address,
  relayAddress: address,
  clientHardwareAddress: fc.uint8Array({ minLength: 0, maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
  serverName: fc.stringMatching(/^[ -~]{0,63}$/),
  bootFile: fc.stringMatching(/^[ -~]{0,127}$/),
  options: fc
    .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 254 }), fc.uint8Array({ maxLength: 600 })), {
      selector: ([code]) => code,
      maxLength: 8,
    })
    .map((entries) => entries.filter(([code]) => code !== DhcpOption.optionOverload))
    .map((entries) => new Map(entries.map(([code, value]) => [code, Buffer.from(value)]))),
});

describe('DHCP packets', () => {
  it('are the same after encoding and decoding', () => {
    fc.assert(
      fc.property(packets, (packet) => {
        const again = decodeDhcpPacket(encodeDhcpPacket(packet));
        expect({ ...again, options: new Map([...again.options].sort(([a], [b]) => a - b)) }).toEqual({
          ...packet,
          options: new Map([...packet.options].sort(([a], [b]) => a - b)),
        });
      }),
      { numRuns: 200 },
    );
  });

  it.each(CAPTURES)('of a real boot are read and written without loss (%s)', (capture) => {
    const datagrams = readUdpDatagrams(capture).filter(({ destinationPort }) =>
      DHCP_PORTS.includes(destinationPort),
    );
    expect(datagrams.length).toBeGreaterThan(3);
    for (const { payload } of datagrams) {
      const packet = decodeDhcpPacket(payload);
      expect(macOf(packet)).toMatch(/^52:54:00:05:00:0[12]$/);
      expect(decodeDhcpPacket(encodeDhcpPacket(packet))).toEqual(packet);
    }
  });

  it('continue in the sname and file fields when the client overloads them', () => {
    const packet = decodeDhcpPacket(
      readUdpDatagrams('uefi-pxe-proxydhcp.pcap')[0]?.payload ?? Buffer.alloc(0),
    );
    packet.options.set(DhcpOption.optionOverload, Buffer.of(1));
    const bytes = encodeDhcpPacket(packet);
    Buffer.from([DhcpOption.hostName, 4, ...Buffer.from('node'), 255]).copy(bytes, 108);
    expect(decodeDhcpPacket(bytes).options.get(DhcpOption.hostName)?.toString()).toBe('node');
  });

  it('that are malformed are refused by name, whatever the bytes (100,000 seeded)', () => {
    const real = readUdpDatagrams('bios-ipxe-rom-proxydhcp.pcap')[0]?.payload ?? Buffer.alloc(0);
    const random = testIntegers(0x5eed);
    let refused = 0;
    for (let round = 0; round < rounds(100_000); round += 1) {
      const bytes = Buffer.from(real.subarray(0, random(real.length + 1)));
      for (let flips = random(8); flips > 0 && bytes.length > 0; flips -= 1)
        bytes[random(bytes.length)] = random(256);
      try {
        decodeDhcpPacket(bytes);
      } catch (thrown) {
        refused += 1;
        if ((thrown as { code?: string }).code !== 'KND_DHCP_MALFORMED') throw thrown;
      }
    }
    expect(refused).toBeGreaterThan(10_000);
  });
});
