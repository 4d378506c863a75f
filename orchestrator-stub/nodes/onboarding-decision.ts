import { type Host, status } from './host.ts';
import { findFault, type Knock } from './onboarding-request.ts';
import { isSerial, NO_SERIAL } from './serial.ts';

/** Codes of google.rpc.Code that travel inside the stream. */
export const RPC_CODE = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  FAILED_PRECONDITION: 9,
  INTERNAL: 13,
} as const;

/** Hosts that fit what a node says, each found by one fact alone. */
export interface Candidates {
  byUuid: Host | undefined;
  bySerial: Host | undefined;
  byMac: Host | undefined;
}

export interface OnboardingPolicy {
  /** Answer exactly as EMF does, even where that leaves a node stranded. */
  isStrict: boolean;
  /** Whether the host's wanted system is on its disk. */
  isProvisioned: (host: Host) => boolean;
  /** Whether an operator registered the MAC of the knock for another host. */
  isMacOfAnother: (host: Host) => boolean;
}

/** What to answer, what to write down, and whether the conversation goes on. */
export interface OnboardingDecision {
  code: number;
  message: string;
  state: 'UNSPECIFIED' | 'REGISTERED' | 'ONBOARDED';
  /** The host as it is after this, if anything changes. */
  save?: Host;
  /** The host that was accepted. */
  host?: Host;
  isStreamKept: boolean;
}

/** EMF's onboarding algorithm (docs/background/emf.md#onboarding-stream) as a pure function. */
export function decideOnboarding(
  knock: Knock,
  candidates: Candidates,
  policy: OnboardingPolicy,
  now: Date,
): OnboardingDecision {
  const fault = findFault(knock, 'OnboardNodeStreamRequest');
  if (fault && fault.field !== 'Serialnum') {
    return refuse(RPC_CODE.INVALID_ARGUMENT, fault.message);
  }
  const serial = isSerial(knock.serial, policy.isStrict) ? knock.serial : NO_SERIAL;
  const match = matchHost(serial, candidates);
  switch (match.kind) {
    case 'contradiction':
      return refuse(RPC_CODE.INTERNAL, 'Internal server error');
    case 'none':
      return { ...refuse(RPC_CODE.NOT_FOUND, 'Device not found'), isStreamKept: true };
    case 'mismatch': {
      const reported =
        match.fact === 'serial'
          ? `Serial Number, Reported Serial Number is: ${serial}`
          : `UUID, Reported UUID is: ${knock.uuid}`;
      const text = `Host Registration Failed due to mismatch of ${reported}`;
      // Anybody may knock with the UUID of a node and a wrong serial: a node that was let in before keeps its state.
      if (match.host.reportedMac) {
        return { ...refuse(RPC_CODE.NOT_FOUND, 'Device not found'), isStreamKept: true };
      }
      return {
        ...refuse(RPC_CODE.NOT_FOUND, 'Device not found'),
        isStreamKept: true,
        save: {
          ...match.host,
          registrationStatus: status(text, 'ERROR', now),
          reportedMac: null,
          reportedIp: null,
        },
      };
    }
    case 'accepted':
      // Workflows are handed out by MAC: with another node's MAC this one would stand between that node and its work.
      if (policy.isMacOfAnother(match.host)) {
        return { ...refuse(RPC_CODE.NOT_FOUND, 'Device not found'), isStreamKept: true };
      }
      return decideByState(recordKnock(match.host, knock, serial, now), policy, now);
  }
}

type Match =
  | { kind: 'accepted'; host: Host }
  | { kind: 'mismatch'; host: Host; fact: 'uuid' | 'serial' }
  | { kind: 'contradiction' }
  | { kind: 'none' };

function matchHost(serial: string, { byUuid, bySerial, byMac }: Candidates): Match {
  if (byUuid && !byUuid.serial) return { kind: 'accepted', host: byUuid };
  if (bySerial && !bySerial.uuid) return { kind: 'accepted', host: bySerial };
  if (byUuid && bySerial) {
    return byUuid.id === bySerial.id ? { kind: 'accepted', host: byUuid } : { kind: 'contradiction' };
  }
  if (byUuid) {
    const isSame = byUuid.serial === NO_SERIAL && serial === NO_SERIAL;
    return isSame ? { kind: 'accepted', host: byUuid } : { kind: 'mismatch', host: byUuid, fact: 'serial' };
  }
  if (bySerial) return { kind: 'mismatch', host: bySerial, fact: 'uuid' };
  // Ours, not EMF's: a host that was registered by its MAC alone.
  if (byMac && !byMac.uuid && !byMac.serial) return { kind: 'accepted', host: byMac };
  return { kind: 'none' };
}

/** What the node told becomes part of its record; a registration by one fact learns the others. */
function recordKnock(host: Host, knock: Knock, serial: string, now: Date): Host {
  return {
    ...host,
    uuid: host.uuid ?? knock.uuid.toLowerCase(),
    reportedSerial: serial === NO_SERIAL ? host.reportedSerial : serial,
    reportedMac: knock.mac,
    mac: host.mac ?? knock.mac.toLowerCase().replaceAll('-', ':'),
    reportedIp: knock.ip,
    lastSeenAt: now.toISOString(),
  };
}

function decideByState(host: Host, policy: OnboardingPolicy, now: Date): OnboardingDecision {
  const isSettled = host.currentState === 'ONBOARDED' && (policy.isStrict || policy.isProvisioned(host));
  // EMF refuses a registration in error too. Anybody can bring that error about with one wrong serial: the right machine comes in.
  if (isSettled) {
    return refuse(RPC_CODE.FAILED_PRECONDITION, `Node is already HOST_STATE_${host.currentState}`);
  }
  if (host.desiredState === 'REGISTERED') {
    const save: Host = {
      ...host,
      currentState: 'REGISTERED',
      registrationStatus: status('Host is Registered', 'IDLE', now),
    };
    return { code: RPC_CODE.OK, message: '', state: 'REGISTERED', save, host: save, isStreamKept: true };
  }
  if (host.desiredState === 'ONBOARDED') {
    const save: Host = {
      ...host,
      currentState: 'ONBOARDED',
      registrationStatus:
        host.registrationStatus.indicator === 'ERROR'
          ? status('Host is Registered', 'IDLE', now)
          : host.registrationStatus,
      onboardingStatus: status('Onboarded', 'IDLE', now),
      hostStatus: status('', 'UNSPECIFIED', now),
    };
    return { code: RPC_CODE.OK, message: '', state: 'ONBOARDED', save, host: save, isStreamKept: false };
  }
  return refuse(RPC_CODE.FAILED_PRECONDITION, 'The node state is unspecified');
}

function refuse(code: number, message: string): OnboardingDecision {
  return { code, message, state: 'UNSPECIFIED', isStreamKept: false };
}
