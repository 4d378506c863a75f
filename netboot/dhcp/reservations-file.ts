import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { KindlingError } from '../../protocol/error.ts';
import type { Reservation, Reservations } from './reservation.ts';

const address = z.ipv4();
const reservationsSchema = z.array(
  z.strictObject({
    mac: z
      .string()
      .regex(/^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i, 'a MAC address looks like 52:54:00:12:34:56')
      .transform((mac) => mac.toLowerCase().replaceAll('-', ':')),
    address,
    subnetMask: address,
    gateway: address.optional(),
    dnsServers: z.array(address).optional(),
    ntpServers: z.array(address).optional(),
    hostName: z.string().max(63).optional(),
    domainName: z.string().max(253).optional(),
    leaseSeconds: z.int().min(60).max(0xffffffff).optional(),
    allowsNetboot: z.boolean().optional(),
  }),
);

/** Reads reservations from a YAML (or JSON) file: a list of entries with mac, address, subnetMask, … */
export function readReservationsFile(path: string): Reservations {
  return indexReservations(readReservations(path));
}

export function readReservations(path: string): Reservation[] {
  return parseReservations(readFileSync(path, 'utf8'), path);
}

export function parseReservations(text: string, path: string): Reservation[] {
  const result = reservationsSchema.safeParse(parse(text) ?? []);
  if (!result.success) {
    throw new KindlingError('KND_USAGE', `${path}: ${z.prettifyError(result.error)}`, {
      hint: 'See docs/how-to/boot-over-the-network.md for the form of the file.',
    });
  }
  // zod leaves out what is not there, which is what Reservation's optional fields mean
  const reservations = result.data as Reservation[];
  for (const key of ['mac', 'address'] as const) {
    const twice = reservations.find(
      (one, index) => reservations.findIndex((other) => other[key] === one[key]) !== index,
    );
    if (twice) throw new KindlingError('KND_USAGE', `${path}: ${key} ${twice[key]} stands there twice`);
  }
  return reservations;
}

export function indexReservations(reservations: readonly Reservation[]): Reservations {
  const byMac = new Map(reservations.map((reservation) => [reservation.mac, reservation]));
  return { find: (mac) => byMac.get(mac) };
}
