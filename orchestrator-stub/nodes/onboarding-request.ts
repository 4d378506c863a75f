import type { ProofSaying } from '../proof/proof-exchange.ts';
import { MAC_PATTERN, UUID_PATTERN } from './registration.ts';
import { EMF_SERIAL_PATTERN } from './serial.ts';

/** What a node says about itself when it knocks; the same four facts in both onboarding services. */
export interface Knock {
  uuid: string;
  serial: string;
  /** Kept as it came: it becomes the worker id. */
  mac: string;
  ip: string;
  /** Public key of the boot it knocks from; empty for agents that have none. */
  key?: Uint8Array;
  /** The next step of the proof that it was asked for. */
  proof?: ProofSaying['step'];
}

/** EMF compiles exactly this; IPv6 cannot pass. */
const IPV4_PATTERN =
  /^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$/;

const PLAIN = /^[\w.:-]{0,64}$/;

export interface KnockFault {
  field: 'Uuid' | 'Serialnum' | 'MacId' | 'HostIp' | 'SutIp';
  message: string;
}

/**
 * The first fault in the order uuid, serial, mac, ip, with the text of EMF's validator. A faulty serial hides faults of
 * mac and ip, because the validator stops there and EMF then accepts the request.
 */
export function findFault(
  knock: Knock,
  message: 'OnboardNodeStreamRequest' | 'HwData',
): KnockFault | undefined {
  const ip = message === 'HwData' ? 'SutIp' : 'HostIp';
  const checks: [KnockFault['field'], string, RegExp][] = [
    ['Uuid', knock.uuid, UUID_PATTERN],
    ['Serialnum', knock.serial, EMF_SERIAL_PATTERN],
    ['MacId', knock.mac, MAC_PATTERN],
    [ip, knock.ip, IPV4_PATTERN],
  ];
  for (const [field, value, pattern] of checks) {
    if (pattern.test(value)) continue;
    // What is no MAC or address at all becomes a worker id and part of templates: never behind a faulty serial either.
    const hidden =
      field === 'Serialnum' && checks.find(([later, text]) => later !== field && !PLAIN.test(text));
    if (hidden)
      return { field: hidden[0], message: `invalid ${message}.${hidden[0]}: value has foreign characters` };
    const reason =
      field === 'Uuid'
        ? 'value must be a valid UUID | caused by: invalid uuid format'
        : `value does not match regex pattern ${JSON.stringify(pattern.source)}`;
    return { field, message: `invalid ${message}.${field}: ${reason}` };
  }
  return undefined;
}
