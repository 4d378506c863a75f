import { normalizeMac } from '../../formats/mac-address.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { ProofRequirement } from '../proof/decide-proof.ts';
import { type Host, normalizeUuid, status } from './host.ts';

export const UUID_PATTERN = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/;
export const MAC_PATTERN = /^([0-9a-fA-F]{2}([-:])){5}[0-9a-fA-F]{2}$/;

/** SHA-256 of a SubjectPublicKeyInfo. */
export const EK_HASH_PATTERN = /^[0-9a-fA-F]{64}$/;

/** What an operator says about a machine before it shows up. */
export interface Registration {
  name?: string | undefined;
  uuid?: string | undefined;
  serial?: string | undefined;
  mac?: string | undefined;
  autoOnboard?: boolean | undefined;
  profile?: string | undefined;
  site?: string | undefined;
  metadata?: Record<string, string> | undefined;
  mayEnroll?: boolean | undefined;
  isUninvited?: boolean | undefined;
  proof?: ProofRequirement | undefined;
  ekHash?: string | undefined;
}

/** An empty record, as a machine has that only showed itself. */
export function newHost(id: HostId, projectId: string, now: Date): Host {
  return {
    id,
    name: id,
    projectId,
    isRegistered: false,
    uuid: null,
    serial: null,
    mac: null,
    reportedMac: null,
    reportedIp: null,
    reportedSerial: null,
    desiredState: 'UNSPECIFIED',
    currentState: 'UNSPECIFIED',
    registrationStatus: status('', 'UNSPECIFIED', now),
    onboardingStatus: status('', 'UNSPECIFIED', now),
    hostStatus: status('', 'UNSPECIFIED', now),
    profile: null,
    site: null,
    metadata: {},
    createdAt: now.toISOString(),
    lastSeenAt: null,
  };
}

/** Lets a machine in: by UUID, serial or MAC, with or without the operator's further word. */
export function registerHost(host: Host, registration: Registration, now: Date): Host {
  if (!registration.uuid && !registration.serial && !registration.mac) {
    throw new KindlingError('KND_NODE_INVALID', 'a registration needs a uuid, a serial or a mac');
  }
  return {
    ...host,
    isRegistered: true,
    name: registration.name ?? host.name,
    // Only what the operator said: what a machine has shown without proof may be somebody else's word, and never becomes identity.
    uuid: registration.uuid ? normalizeUuid(registration.uuid) : null,
    serial: registration.serial ?? null,
    mac: registration.mac ? normalizeMac(registration.mac) : null,
    isMacRegistered: registration.mac !== undefined,
    desiredState: registration.autoOnboard ? 'ONBOARDED' : 'REGISTERED',
    registrationStatus: status('Host is Registered', 'IDLE', now),
    profile: registration.profile ?? host.profile,
    site: registration.site ?? host.site,
    metadata: registration.metadata ?? host.metadata,
    mayEnroll: registration.mayEnroll ?? host.mayEnroll ?? true,
    isUninvited: registration.isUninvited ?? false,
    ...(registration.proof ? { proof: registration.proof } : {}),
    ...(registration.ekHash ? { ekHash: registration.ekHash.toLowerCase() } : {}),
  };
}

/**
 * Corrects what was registered. EMF keeps a mismatch for ever (the host must be deleted); here the correction also
 * clears the mismatch, so the node's next knock succeeds.
 */
export function correctHost(
  host: Host,
  change: Omit<
    Registration,
    'autoOnboard' | 'uuid' | 'serial' | 'mac' | 'isUninvited' | 'proof' | 'ekHash'
  > & {
    uuid?: string | null | undefined;
    serial?: string | null | undefined;
    mac?: string | null | undefined;
    proof?: ProofRequirement | null | undefined;
    ekHash?: string | null | undefined;
  },
  now: Date,
): Host {
  const pick = <T>(next: T | undefined, old: T): T => (next === undefined ? old : next);
  const corrected: Host = {
    ...host,
    name: change.name ?? host.name,
    uuid: pick(change.uuid && normalizeUuid(change.uuid), host.uuid) || null,
    serial: pick(change.serial, host.serial) || null,
    mac: pick(change.mac && normalizeMac(change.mac), host.mac) || null,
    isMacRegistered: change.mac === undefined ? (host.isMacRegistered ?? false) : change.mac !== null,
    profile: change.profile ?? host.profile,
    site: change.site ?? host.site,
    metadata: change.metadata ?? host.metadata,
    mayEnroll: change.mayEnroll ?? host.mayEnroll ?? true,
  };
  if (change.proof === null) delete corrected.proof;
  else if (change.proof) corrected.proof = change.proof;
  if (change.ekHash !== undefined) forgetTpm(corrected, now);
  if (change.ekHash) corrected.ekHash = change.ekHash.toLowerCase();
  if (corrected.isRegistered && !corrected.uuid && !corrected.serial && !corrected.mac) {
    throw new KindlingError('KND_NODE_INVALID', `${host.name} would be left without uuid, serial and mac`);
  }
  if (host.registrationStatus.indicator === 'ERROR') {
    corrected.registrationStatus = status('Host is Registered', 'IDLE', now);
  }
  return corrected;
}

/** The node is known by another TPM from now on, or by none: what was said about the old one is settled. */
function forgetTpm(host: Host, now: Date): void {
  delete host.ekHash;
  delete host.proven;
  if (host.onboardingStatus.indicator === 'ERROR') host.onboardingStatus = status('', 'UNSPECIFIED', now);
}

/** The operator's "Onboard": the node gets its credentials at its next knock. */
export function allowOnboarding(host: Host): Host {
  if (!host.isRegistered) {
    throw new KindlingError('KND_NODE_STATE', `${host.name} is not registered yet`, {
      hint: 'Register it first: kindling node register --uuid … (or --serial, --mac).',
    });
  }
  if (host.desiredState === 'DELETED' || host.desiredState === 'UNTRUSTED') {
    throw new KindlingError('KND_NODE_STATE', `${host.name} is ${host.desiredState}`);
  }
  return { ...host, desiredState: 'ONBOARDED' };
}

/** Takes the trust away; the caller revokes the credentials. */
export function deauthorizeHost(host: Host, now: Date): Host {
  return {
    ...host,
    desiredState: 'UNTRUSTED',
    currentState: 'UNTRUSTED',
    hostStatus: status('Invalidated', 'IDLE', now),
  };
}

/** Opens the door again for a node that is already ONBOARDED: it may fetch credentials and work once more. */
export function reopenOnboarding({ nodeKey: _, ...host }: Host, now: Date): Host {
  return {
    ...host,
    desiredState: 'ONBOARDED',
    currentState: 'REGISTERED',
    onboardingStatus: status('', 'UNSPECIFIED', now),
    hostStatus: status('Waiting for the node to network-boot', 'IN_PROGRESS', now),
  };
}
