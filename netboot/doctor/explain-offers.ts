import { DhcpOption } from '../../protocol/dhcp/options.ts';
import { addressText, type DhcpPacket } from '../../protocol/dhcp/packet.ts';
import type { Reservation, Reservations } from '../dhcp/reservation.ts';

/** One offer as a person wants to see it. */
export interface ExplainedOffer {
  /** Who answered: option 54, or the sender's address. */
  server: string;
  gives: 'address' | 'boot file' | 'address and boot file' | 'nothing useful';
  address: string | undefined;
  bootFile: string | undefined;
  nextServer: string | undefined;
}

export interface Diagnosis {
  offers: ExplainedOffer[];
  /** What would go wrong, worst first, each with what to do. */
  problems: { what: string; next: string }[];
}

/** Who was asked, and from where. */
export interface Asked {
  device: string;
  mac: string;
  /** Whether a server for network boot runs on this very machine. */
  thisMachineServes: boolean;
  /** The list that the site's server answers by, if the doctor was given it. */
  list?: { path: string; reservations: Reservations };
}

/** Reads what servers offered to a network-boot DISCOVER and says what a firmware would make of it. */
export function explainOffers(
  offers: readonly { packet: DhcpPacket; sender: string }[],
  asked: Asked,
): Diagnosis {
  const explained = offers.map(({ packet, sender }) => explainOffer(packet, sender));
  return { offers: explained, problems: findProblems(explained, asked) };
}

function explainOffer(packet: DhcpPacket, sender: string): ExplainedOffer {
  const identifier = packet.options.get(DhcpOption.serverIdentifier);
  const option67 = packet.options.get(DhcpOption.bootFileName)?.toString('latin1').replace(/\0.*$/s, '');
  const address = packet.yourAddress === '0.0.0.0' ? undefined : packet.yourAddress;
  const bootFile = option67 || packet.bootFile || undefined;
  const parts = [...(address ? ['address'] : []), ...(bootFile ? ['boot file'] : [])];
  return {
    server: identifier?.length === 4 ? addressText(identifier) : sender,
    gives: (parts.join(' and ') || 'nothing useful') as ExplainedOffer['gives'],
    address,
    bootFile,
    nextServer: packet.nextServerAddress === '0.0.0.0' ? undefined : packet.nextServerAddress,
  };
}

function findProblems(offers: ExplainedOffer[], asked: Asked): Diagnosis['problems'] {
  const problems: Diagnosis['problems'] = [];
  const addressServers = unique(offers.filter(({ address }) => address).map(({ server }) => server));
  const bootServers = unique(offers.filter(({ bootFile }) => bootFile).map(({ server }) => server));
  const reservation = asked.list?.reservations.find(asked.mac);
  if (asked.list && !reservation) problems.push(notInTheList(asked.list.path, asked.mac));
  if (offers.length === 0) {
    if (problems.length === 0) problems.push(nobodyAnswered(asked));
    return problems;
  }
  if (reservation) problems.push(...addressesBesidesTheList(offers, reservation));
  if (addressServers.length === 0) {
    problems.push({
      what: 'no server gives addresses on this network',
      next: 'Start the site’s DHCP server, or run `kindling pxe --mode reservation` with reservations.',
    });
  }
  if (addressServers.length > 1) {
    problems.push({
      what: `${addressServers.length} servers give addresses: ${addressServers.join(', ')}`,
      next: 'Two address servers on one network make boots fail at random; keep one.',
    });
  }
  if (bootServers.length === 0 && reservation?.allowsNetboot === false) {
    problems.push({
      what: `the list does not let ${asked.mac} boot from the network, and no server names a boot file`,
      next: 'Remove `allowsNetboot: false` from its entry and restart the server, if it is to boot.',
    });
  } else if (bootServers.length === 0) {
    problems.push({
      what: 'no server names a boot file',
      next: 'Run `kindling pxe --mode auto-proxy` on this network; if it is running, DHCP snooping may drop its offers.',
    });
  }
  if (bootServers.length > 1) {
    problems.push({
      what: `${bootServers.length} servers name a boot file: ${bootServers.join(', ')}`,
      next: 'The firmware takes whichever comes first; remove the boot options from all servers but one.',
    });
  }
  return problems;
}

function notInTheList(path: string, mac: string): Diagnosis['problems'][number] {
  return {
    what: `${mac} is not in ${path}: a server with this list gives it no address`,
    next: 'Add it to the list and restart the server, or ask as a machine of the list with --mac.',
  };
}

function addressesBesidesTheList(
  offers: ExplainedOffer[],
  { mac, address }: Reservation,
): Diagnosis['problems'] {
  return offers
    .filter((offer) => offer.address !== undefined && offer.address !== address)
    .map((offer) => ({
      what: `${offer.server} offers ${offer.address} to ${mac}, and the list says ${address}`,
      next: 'Another server gives addresses here, or the server has read an older list: restart it.',
    }));
}

function nobodyAnswered({ device, mac, thisMachineServes, list }: Asked): Diagnosis['problems'][number] {
  if (thisMachineServes) {
    return {
      what: `this machine itself serves network boot, and cannot hear itself on ${device}`,
      next: 'Run the doctor on another machine of that network.',
    };
  }
  return {
    what: `nobody answered the DISCOVER of ${mac}`,
    next:
      'Check the cable and VLAN; on a managed switch, enable PortFast and allow this port in DHCP snooping. ' +
      (list
        ? 'The list has this machine, so its server does not hear us, does not run, or has read an older list.'
        : 'A server with a list of machines answers only those: ask as one of them with --mac or --reservations.'),
  };
}

function unique(values: string[]): string[] {
  return [...new Set(values)];
}
