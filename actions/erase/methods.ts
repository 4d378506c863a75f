import type { ERASE_METHODS } from '../../protocol/erase-methods.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { AtaSecurity } from '../resources/ata-password.ts';

export type EraseMethod = Exclude<(typeof ERASE_METHODS)[number], 'auto'>;

/** What the disk says it can do. Absent means it does not say so, and then it is not tried. */
export interface EraseCapabilities {
  discard: boolean;
  /** The device writes zeros by itself, without them traveling over the bus. */
  writeZeroes: boolean;
  nvme?: {
    /** Optional Admin Command Support, bit 1: Format NVM. */
    format: boolean;
    /** Format NVM Attributes, bit 2: cryptographic erase. */
    cryptoFormat: boolean;
    /** Sanitize Capabilities: bit 0 crypto, bit 1 block erase, bit 2 overwrite. */
    sanitize: 'crypto' | 'block' | 'overwrite' | undefined;
    /** Format NVM Attributes, bits 0 and 1: a format, or its secure erase, is of all namespaces at once. */
    formatsAll: boolean;
  };
  /** Namespaces of the same controller that are to stay. */
  keptNamespaces?: readonly string[];
  ata?: AtaSecurity;
}

/** NIST SP 800-88 rev. 1: what a method is worth when it worked. `none`: data may still be there. */
export const NIST_CLASS: Record<EraseMethod, 'none' | 'clear' | 'purge'> = {
  quick: 'none',
  discard: 'none',
  zeroes: 'clear',
  overwrite: 'clear',
  'nvme-format': 'purge',
  'nvme-crypto': 'purge',
  'nvme-sanitize': 'purge',
  'ata-secure-erase': 'clear',
};

/** What samples must look like afterwards. After discard and crypto erase anything but the old data is right. */
export const READS_AS_ZERO: ReadonlySet<EraseMethod> = new Set(['zeroes', 'overwrite']);

/** The method for a disk, or why the requested one cannot be used on it. `auto` only takes what is done in seconds. */
export function chooseMethod(
  requested: (typeof ERASE_METHODS)[number],
  device: string,
  capabilities: EraseCapabilities,
): EraseMethod {
  if (requested === 'auto') return capabilities.discard ? 'discard' : 'quick';
  const reason = whyNot(requested, capabilities);
  if (!reason) return requested;
  throw new KindlingError('KND_ERASE_UNSUPPORTED', `${device} cannot be erased by ${requested}: ${reason}`, {
    evidence: { device, requested, capabilities },
  });
}

/** Whether it erases all namespaces of an NVMe controller, whichever of them it is asked for. */
export function erasesController(
  method: (typeof ERASE_METHODS)[number],
  nvme: EraseCapabilities['nvme'],
): boolean {
  return method === 'nvme-sanitize' || (method.startsWith('nvme-') && (nvme?.formatsAll ?? false));
}

function whyNot(method: EraseMethod, capabilities: EraseCapabilities): string | undefined {
  const { discard, nvme, ata, keptNamespaces = [] } = capabilities;
  if (erasesController(method, nvme) && keptNamespaces.length > 0)
    return `it erases the whole controller, and ${keptNamespaces.join(', ')} is to stay`;
  switch (method) {
    case 'quick':
    case 'zeroes':
    case 'overwrite':
      return undefined;
    case 'discard':
      return discard ? undefined : 'it does not support discard';
    case 'nvme-format':
      return nvme?.format ? undefined : 'it does not support Format NVM';
    case 'nvme-crypto':
      return nvme?.format && nvme.cryptoFormat ? undefined : 'it does not support cryptographic erase';
    case 'nvme-sanitize':
      return nvme?.sanitize ? undefined : 'it does not support Sanitize';
    case 'ata-secure-erase':
      if (!ata?.supported) return 'it does not support the ATA security feature set';
      if (ata.frozen)
        return 'the firmware froze its security state; suspend and resume, or hot-plug the disk, to thaw it';
      if (ata.locked) return 'it is locked with a password that Kindling does not know';
      return undefined;
  }
}
