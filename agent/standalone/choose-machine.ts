import { KindlingError } from '../../protocol/error.ts';
import type { Identity } from '../../protocol/identity.ts';
import type { StickMachine } from '../../protocol/stick.ts';

/** The entry for this machine: by serial, then UUID (in either byte order), then MAC; else the default. */
export function chooseMachine(machines: readonly StickMachine[], identity: Identity): StickMachine {
  const same = (one: string | undefined, other: string | undefined) =>
    one !== undefined && one.trim().toLowerCase() === other?.trim().toLowerCase();
  const named = machines.flatMap((machine) =>
    machine.match === 'default' ? [] : [{ machine, match: machine.match }],
  );
  const found =
    named.find(({ match }) => same(match.serial, identity.serial)) ??
    named.find(({ match }) => same(match.uuid, identity.uuid) || same(match.uuid, identity.uuidAlias)) ??
    named.find(({ match }) => identity.macs.some((mac) => same(match.mac?.replaceAll('-', ':'), mac)));
  const machine = found?.machine ?? machines.find(({ match }) => match === 'default');
  if (machine !== undefined && !machine.refuse) return machine;
  const who = `serial ${identity.serial ?? 'unknown'}, UUID ${identity.uuid ?? 'unknown'}`;
  throw new KindlingError('KND_STICK_MACHINE_REFUSED', `nothing is installed on this machine (${who})`);
}
