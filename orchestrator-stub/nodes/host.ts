import type { HostId } from '../../protocol/ids.ts';
import type { ProofRequirement } from '../proof/decide-proof.ts';

/** Current and desired state of a host, with the names and meaning of EMF's inventory. */
export type HostState = 'UNSPECIFIED' | 'DELETED' | 'ONBOARDED' | 'UNTRUSTED' | 'REGISTERED';

/** How a status text is meant: gray, blue, green or red in a list. */
export type Indicator = 'UNSPECIFIED' | 'ERROR' | 'IN_PROGRESS' | 'IDLE';

export interface Status {
  text: string;
  indicator: Indicator;
  at: string;
  /** Of what failed, where it has a code. */
  error?: { code: string; hint: string };
}

/** The orchestrator's record of one machine. */
export interface Host {
  /** `host-1a2b3c4d`; the same before and after registration. */
  id: HostId;
  name: string;
  projectId: string;
  /** False while the machine has only shown itself (discovery report): it is listed but not let in. */
  isRegistered: boolean;
  /** SMBIOS UUID in lower case; null until known. */
  uuid: string | null;
  /** As registered or, for a machine that onboarded interactively, as reported; null until known. */
  serial: string | null;
  /** Boot MAC, lower case with colons: registered, else reported. */
  mac: string | null;
  /** An operator said the MAC: no other node may report it as its own. */
  isMacRegistered?: boolean;
  /** Exactly as the node sent it: it is the worker id of its workflow, byte for byte. */
  reportedMac: string | null;
  reportedIp: string | null;
  reportedSerial: string | null;
  desiredState: HostState;
  currentState: HostState;
  registrationStatus: Status;
  onboardingStatus: Status;
  hostStatus: Status;
  /** Profile to provision with; null means the site's default. */
  profile: string | null;
  /** False: never gets a workflow by an enrollment rule. */
  mayEnroll?: boolean;
  /** Nobody registered it: it was let in because the site lets in everyone, or by a person at its console. */
  isUninvited?: boolean;
  /** The sign-in at the console that let it in: only that one opens its workflows. */
  signIn?: string;
  /** Code of the key that the node was let in with (sealed-secret.ts); absent for agents that send none. */
  nodeKey?: string;
  /** Whether it has to prove itself by its TPM; absent: as its profile or the site says. */
  proof?: ProofRequirement;
  /** The TPM that the node is known by (SHA-256 of its endorsement key): registered, approved, or the first it was let in with. */
  ekHash?: string;
  /** Code of the boot key that a person approved, for a machine that has no TPM. */
  approvedKey?: string;
  /** When it proved itself last, and which CA certifies its TPM; absent for a node that was let in without. */
  proven?: { at: string; certifiedBy: string | null };
  /** Differences from the bill of materials that a person accepted. */
  acceptedParts?: string[];
  site: string | null;
  metadata: Record<string, string>;
  createdAt: string;
  lastSeenAt: string | null;
}

export function status(text: string, indicator: Indicator, now: Date): Status {
  return { text, indicator, at: now.toISOString() };
}

/** When any of its statuses changed last. */
export function lastStatusAt({ registrationStatus, onboardingStatus, hostStatus }: Host): string {
  return [registrationStatus.at, onboardingStatus.at, hostStatus.at].reduce((a, b) => (a > b ? a : b));
}

/**
 * A UUID as we store and compare it. Registration forms give upper case, dmidecode prints lower
 * (docs/background/emf.md#compatibility-traps, trap 17).
 */
export function normalizeUuid(uuid: string): string {
  return uuid.trim().toLowerCase();
}

/** The same UUID with its first three fields byte-swapped, as tools that follow SMBIOS before 2.6 print it. */
export function swapUuidFields(uuid: string): string {
  const [a = '', b = '', c = '', d = '', e = ''] = uuid.split('-');
  const swap = (field: string) => (field.match(/../g) ?? []).reverse().join('');
  return [swap(a), swap(b), swap(c), d, e].join('-');
}
