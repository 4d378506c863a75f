import { isIP } from 'node:net';

export interface IpAddress {
  family: 4 | 6;
  value: bigint;
}

export interface Network {
  family: 4 | 6;
  /** The address as written, host bits included. */
  address: bigint;
  prefix: number;
}

const BITS = { 4: 32, 6: 128 } as const;

export function parseIp(text: string): IpAddress | undefined {
  const family = isIP(text);
  if (family === 4) {
    return { family, value: text.split('.').reduce((value, part) => value * 256n + BigInt(part), 0n) };
  }
  if (family !== 6 || text.includes('%')) return undefined;
  // ::ffff:192.0.2.1 → ::ffff:c000:201
  const hex = text.replace(/[^:]+\.[^:]+$/, (dotted) => {
    const value = parseIp(dotted)?.value ?? 0n;
    return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  });
  const [head = '', tail] = hex.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const value = [...before, ...zeros, ...after].reduce(
    (sum, group) => sum * 65536n + BigInt(`0x${group}`),
    0n,
  );
  return { family, value };
}

export function formatIp({ family, value }: IpAddress): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  );
  // The URL parser writes an IPv6 address in its canonical short form.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** address/prefix, with or without host bits. */
export function parseNetwork(text: string): Network | undefined {
  const [addressText = '', prefixText, ...rest] = text.split('/');
  const address = parseIp(addressText);
  if (address === undefined || prefixText === undefined || rest.length > 0 || !/^\d{1,3}$/.test(prefixText)) {
    return undefined;
  }
  const prefix = Number(prefixText);
  return prefix <= BITS[address.family]
    ? { family: address.family, address: address.value, prefix }
    : undefined;
}

export function firstAddress({ family, address, prefix }: Network): bigint {
  const hostBits = BigInt(BITS[family] - prefix);
  return (address >> hostBits) << hostBits;
}

export function lastAddress(network: Network): bigint {
  return firstAddress(network) + (1n << BigInt(BITS[network.family] - network.prefix)) - 1n;
}

export function hasHostBits(network: Network): boolean {
  return firstAddress(network) !== network.address;
}

export function formatNetwork(network: Network): string {
  return `${formatIp({ family: network.family, value: firstAddress(network) })}/${network.prefix}`;
}

export function contains(network: Network, ip: IpAddress): boolean {
  return (
    network.family === ip.family && ip.value >= firstAddress(network) && ip.value <= lastAddress(network)
  );
}

export function overlaps(one: Network, other: Network): boolean {
  return (
    one.family === other.family &&
    firstAddress(one) <= lastAddress(other) &&
    firstAddress(other) <= lastAddress(one)
  );
}
