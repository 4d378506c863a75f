import { isIPv6 } from 'node:net';

/**
 * What limits per address count by: an IPv4 address, or the /64 of an IPv6 address, because one machine has a whole /64 to
 * choose addresses from.
 */
export function addressGroup(address: string): string {
  const bare = address.replace(/^::ffff:/, '').replace(/%.*$/, '');
  if (!isIPv6(bare)) return bare;
  const [head = '', tail = ''] = bare.split('::');
  const [front, back] = [head.split(':').filter(Boolean), tail.split(':').filter(Boolean)];
  const zeros = bare.includes('::') ? Math.max(0, 8 - front.length - back.length) : 0;
  return [...front, ...Array<string>(zeros).fill('0'), ...back].slice(0, 4).join(':');
}

/** The address of a peer as people write it: an IPv4 client of a dual-stack socket comes as ::ffff:10.0.0.7. */
export function plainAddress(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:/, '');
}

/** Whether a peer is on this very machine: loopback, or a connection with one address on both ends. */
export function isSameMachine(remote: string | undefined, local: string | undefined): boolean {
  const address = plainAddress(remote);
  return (
    address === '::1' || address.startsWith('127.') || (address !== '' && address === plainAddress(local))
  );
}

/** The neighborhood of an address, as a group of its own: the /24 of an IPv4 address, the /64 of an IPv6 address. */
export function addressNeighborhood(address: string): string {
  return addressGroup(address).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0');
}
