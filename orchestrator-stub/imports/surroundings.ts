import { normalizeMac } from '../../formats/mac-address.ts';
import { type Host, normalizeUuid } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import type { Profile } from '../nodes/profile.ts';
import type { DocumentTable } from '../store/document-table.ts';
import type { RowSurroundings } from './decide-row.ts';
import type { ListedMachine } from './machine-list.ts';

export interface SurroundingsParts {
  hosts: HostTable;
  profiles: DocumentTable<Profile>;
  settings: () => { defaultProfile: string | null };
}

/** Looks up what the site knows about the machine of a row. */
export async function surroundingsOf(
  { hosts, profiles, settings }: SurroundingsParts,
  { cell }: ListedMachine,
): Promise<RowSurroundings> {
  const found = [
    cell('UUID') && (await hosts.byUuid(normalizeUuid(cell('UUID')))),
    cell('Serial') && (await hosts.bySerial(cell('Serial'))),
    cell('MAC') && (await hosts.byMac(normalizeMac(cell('MAC')))),
  ].filter((host): host is Host => typeof host === 'object');
  const all = [...new Map(found.map((host) => [host.id, host])).values()];
  const holders = all.filter((host) => host.isRegistered);
  const profile = cell('OSProfile') || holders[0]?.profile || settings().defaultProfile;
  const ekHolder = cell('EKHash') ? await hosts.byEkHash(cell('EKHash').toLowerCase()) : undefined;
  return {
    profile: profile ? await profiles.get(profile) : undefined,
    holders,
    strangers: all.filter((host) => !host.isRegistered),
    namesakes: cell('Name') ? (await hosts.named(cell('Name'))).filter((host) => host.isRegistered) : [],
    ekHolder,
  };
}
