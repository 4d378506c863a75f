import { describe, expect, it } from 'vitest';
import type { Reservation } from '../../../netboot/dhcp/reservation.ts';
import { indexReservations } from '../../../netboot/dhcp/reservations-file.ts';
import { thisMachineServes } from '../../../netboot/doctor/doctor.ts';
import { explainOffers } from '../../../netboot/doctor/explain-offers.ts';
import { decodeDhcpPacket } from '../../../protocol/dhcp/packet.ts';
import { readUdpDatagrams } from '../dhcp/pcap.ts';

const offers = readUdpDatagrams('bios-ipxe-rom-proxydhcp.pcap')
  .filter(({ destinationPort }) => destinationPort === 68)
  .map(({ payload }) => ({ packet: decodeDhcpPacket(payload), sender: '10.5.0.9' }))
  .slice(0, 2);

const asked = { device: 'eth1', mac: '52:54:00:00:00:01', thisMachineServes: false };

describe('the doctor', () => {
  it('knows that it cannot hear the server it runs beside', () => {
    const [problem] = explainOffers([], { ...asked, thisMachineServes: true }).problems;
    expect(problem?.what).toBe('this machine itself serves network boot, and cannot hear itself on eth1');
    expect(problem?.next).toContain('another machine');
  });

  it('finds that server by the port of the PXE boot service', () => {
    const header = '  sl  local_address rem_address   st tx_queue rx_queue\n';
    expect(thisMachineServes(`${header} 1371: 00000000:0FAB 00000000:0000 07 00000000:00000000\n`)).toBe(
      true,
    );
    expect(thisMachineServes(`${header} 1371: 00000000:0044 00000000:0FAB 07 00000000:00000000\n`)).toBe(
      false,
    );
  });

  it('tells the server of addresses from the proxy that names the boot file', () => {
    const { offers: explained, problems } = explainOffers(offers, asked);
    expect(explained.map(({ gives }) => gives).sort()).toEqual(['address', 'boot file']);
    expect(explained.find(({ gives }) => gives === 'boot file')?.bootFile).toBe(
      'http://10.5.0.1:8080/boot.ipxe',
    );
    expect(problems).toEqual([]);
  });

  it('says what is missing', () => {
    const onlyAddress = offers.filter(({ packet }) => packet.yourAddress !== '0.0.0.0');
    const onlyBoot = offers.filter(({ packet }) => packet.yourAddress === '0.0.0.0');
    expect(explainOffers([], asked).problems[0]?.what).toContain('nobody answered');
    expect(explainOffers(onlyAddress, asked).problems[0]?.what).toContain('no server names a boot file');
    expect(explainOffers(onlyBoot, asked).problems[0]?.what).toContain('no server gives addresses');
  });

  it('warns of two servers that do the same', () => {
    const [first] = offers.filter(({ packet }) => packet.yourAddress !== '0.0.0.0');
    if (!first) throw new Error('the capture holds no address offer');
    const second = {
      ...first,
      packet: { ...first.packet, options: new Map([...first.packet.options, [54, Buffer.of(10, 5, 0, 77)]]) },
    };
    expect(
      explainOffers([first, second], asked)
        .problems.map(({ what }) => what)
        .join(),
    ).toContain('2 servers give addresses');
  });

  describe('with the list of the site’s server', () => {
    const given = { mac: asked.mac, address: '10.5.0.20', subnetMask: '255.255.255.0' };
    const withList = (...entries: Reservation[]) => ({
      ...asked,
      list: { path: 'machines.yaml', reservations: indexReservations(entries) },
    });
    const whats = (found: typeof offers, entries: Reservation[]) =>
      explainOffers(found, withList(...entries)).problems.map(({ what }) => what);
    const offered = offers.map(({ packet }) => packet.yourAddress).find((address) => address !== '0.0.0.0');
    const onlyAddress = offers.filter(({ packet }) => packet.yourAddress !== '0.0.0.0');

    it('is content when the machine gets the address of the list', () => {
      expect(whats(offers, [{ ...given, address: offered ?? '' }])).toEqual([]);
    });

    it('says that a machine is not in the list', () => {
      expect(whats([], [])).toEqual([
        '52:54:00:00:00:01 is not in machines.yaml: a server with this list gives it no address',
      ]);
    });

    it('says which server gives another address than the list', () => {
      expect(whats(offers, [given])).toEqual([
        expect.stringMatching(`offers ${offered} to 52:54:00:00:00:01, and the list says 10.5.0.20`),
      ]);
    });

    it('says that the list itself keeps the machine from booting', () => {
      expect(whats(onlyAddress, [{ ...given, address: offered ?? '', allowsNetboot: false }])).toEqual([
        'the list does not let 52:54:00:00:00:01 boot from the network, and no server names a boot file',
      ]);
    });

    it('does not send a listed machine to look at the list when nobody answers', () => {
      expect(explainOffers([], withList(given)).problems[0]?.next).toContain('The list has this machine');
    });
  });
});
