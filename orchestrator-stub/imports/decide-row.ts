import { normalizeMac } from '../../formats/mac-address.ts';
import type { FieldChange, RowFault } from '../../protocol/imports.ts';
import { type Host, normalizeUuid } from '../nodes/host.ts';
import type { Profile } from '../nodes/profile.ts';
import type { correctHost, Registration } from '../nodes/registration.ts';
import type { Heading, ListedMachine } from './machine-list.ts';

type Correction = Parameters<typeof correctHost>[1];

/** What the site knows about the machine of a row. */
export interface RowSurroundings {
  /** The profile that the row names, or else the one it would get; undefined: there is none of that name. */
  profile: Profile | undefined;
  /** Registered nodes that hold the row's identity. */
  holders: readonly Host[];
  /** Machines nobody registered that hold it, the best evidence first. */
  strangers: readonly Host[];
  /** Registered nodes that have the row's name. */
  namesakes: readonly Host[];
  /** The node that is known by the row's TPM. */
  ekHolder: Host | undefined;
}

/** What is to be done about a row. */
export type RowDecision =
  | { verdict: 'bad'; faults: RowFault[] }
  | { verdict: 'new'; registration: Registration; stranger: Host | undefined }
  | { verdict: 'changed'; host: Host; change: Correction; changes: FieldChange[] }
  | { verdict: 'same'; host: Host };

/** Judges one row against the site: 1 what is wrong  2 whose row it is  3 what it changes. */
export function decideRow(machine: ListedMachine, site: RowSurroundings): RowDecision {
  const faults = [...machine.faults, ...profileFaults(machine, site.profile), ...ownerFaults(machine, site)];
  if (faults.length > 0) return { verdict: 'bad', faults };
  const [host] = site.holders;
  if (!host) return { verdict: 'new', registration: registrationOf(machine), stranger: site.strangers[0] };
  const { change, changes } = changesOf(machine, host);
  return changes.length === 0 ? { verdict: 'same', host } : { verdict: 'changed', host, change, changes };
}

/** Some columns of EMF are set by the profile here: a cell that says something else than the profile cannot be honored. */
function profileFaults({ cell, column }: ListedMachine, profile: Profile | undefined): RowFault[] {
  const faults: RowFault[] = [];
  const blame = (heading: Heading, message: string) => faults.push({ column: column(heading), message });
  const named = cell('OSProfile');
  if (named && !profile) {
    blame('OSProfile', `OS Profile "${named}" not found`);
    return faults;
  }
  const secure = cell('Secure').toLowerCase();
  if (profile && secure && (secure === 'true') !== (profile.security !== 'NONE'))
    blame('Secure', 'OS Profile and Security feature mismatch');
  const where = profile ? `profile ${profile.name}` : 'no profile';
  const user = cell('RemoteUser');
  if (user && profile?.localAccount?.user !== user)
    blame(
      'RemoteUser',
      `The account is set by the profile, and ${where} has ${profile?.localAccount?.user ?? 'none'}, not "${user}"`,
    );
  const size = cell('LVMSize');
  if (size && Number(size) !== (profile?.lvmSizeGb ?? 0))
    blame(
      'LVMSize',
      `The size is set by the profile, and ${where} has ${profile?.lvmSizeGb ?? 0}, not ${size}`,
    );
  const files = profile?.customConfigs.map(({ name }) => name) ?? [];
  for (const wanted of cell('CloudInitMeta').split('&').filter(Boolean)) {
    if (!files.includes(wanted))
      blame(
        'CloudInitMeta',
        `Cloud-init files are set by the profile, and ${where} has ${files.join(', ') || 'none'}, not "${wanted}"`,
      );
  }
  return faults;
}

/** The details of a row must be those of one node, and its name that of no other. */
function ownerFaults({ cell, column }: ListedMachine, site: RowSurroundings): RowFault[] {
  const faults: RowFault[] = [];
  const { holders, namesakes, ekHolder } = site;
  const [host] = holders;
  if (holders.length > 1) {
    const names = holders.map(({ name, id }) => `${name} (${id})`).join(' and ');
    return [{ column: null, message: `The row mixes details of several hosts: ${names}` }];
  }
  const differs = (heading: Heading, registered: string) =>
    faults.push({
      column: column(heading),
      message: `Host already registered with mismatching details: its ${heading} is ${registered}`,
    });
  if (host) {
    const { uuid, serial, mac, ekHash, isMacRegistered } = host;
    if (cell('UUID') && uuid && normalizeUuid(cell('UUID')) !== uuid) differs('UUID', uuid);
    if (cell('Serial') && serial && cell('Serial').toLowerCase() !== serial.toLowerCase())
      differs('Serial', serial);
    if (cell('MAC') && mac && isMacRegistered && normalizeMac(cell('MAC')) !== mac) differs('MAC', mac);
    if (cell('EKHash') && ekHash && cell('EKHash').toLowerCase() !== ekHash) differs('EKHash', ekHash);
  }
  const namesake = namesakes.find(({ id }) => id !== host?.id);
  if (namesake)
    faults.push({ column: column('Name'), message: `The name is that of another host, ${namesake.id}` });
  if (ekHolder && ekHolder.id !== host?.id)
    faults.push({
      column: column('EKHash'),
      message: `The TPM is that of another host, ${ekHolder.name} (${ekHolder.id})`,
    });
  return faults;
}

function registrationOf({ cell, metadata }: ListedMachine): Registration {
  return {
    name: cell('Name') || undefined,
    uuid: cell('UUID') || undefined,
    serial: cell('Serial') || undefined,
    mac: cell('MAC') || undefined,
    profile: cell('OSProfile') || undefined,
    site: cell('Site') || undefined,
    ekHash: cell('EKHash') || undefined,
    metadata,
  };
}

/** An empty cell says nothing: what is registered stays. */
function changesOf(
  { cell, metadata }: ListedMachine,
  host: Host,
): { change: Correction; changes: FieldChange[] } {
  const said = {
    uuid: cell('UUID') && normalizeUuid(cell('UUID')),
    serial: host.serial ? '' : cell('Serial'),
    mac: cell('MAC') && normalizeMac(cell('MAC')),
    ekHash: cell('EKHash').toLowerCase(),
    name: cell('Name'),
    profile: cell('OSProfile'),
    site: cell('Site'),
  };
  const fields = (Object.entries(said) as [keyof typeof said, string][]).filter(
    ([field, to]) => to !== '' && to !== (host[field] ?? ''),
  );
  const pairs = Object.entries(metadata).filter(([key, value]) => host.metadata[key] !== value);
  const changes = [
    ...fields.map(([field, to]) => ({ field, from: host[field] ?? '', to })),
    ...pairs.map(([key, to]) => ({ field: `metadata.${key}`, from: host.metadata[key] ?? '', to })),
  ];
  const change: Correction = {
    ...Object.fromEntries(fields),
    ...(pairs.length > 0 ? { metadata: { ...host.metadata, ...metadata } } : {}),
  };
  return { change, changes };
}
