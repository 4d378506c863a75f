import type { Firmware } from '../lab/qemu/machine-spec.ts';
import { KindlingError } from '../protocol/error.ts';

export interface DemoOptions {
  firmware: Firmware;
  nodes: number;
  /** An immutable system with dm-verity (template "microvisor") instead of a mutable Debian ("ubuntu"). */
  isImmutable: boolean;
  /** The firmware fetches iPXE by HTTPS and knows the site's CA; everything after it goes over TLS too. Without: PXE. */
  isHttpsBoot: boolean;
  memoryMb: number;
  /** One JSON object per line instead of a picture for people. */
  isJson: boolean;
  showConsole: boolean;
  keep: boolean;
  /** Where to draw the run, docs/images/demo.svg. */
  picture: string | undefined;
}

/** A node runs a whole Debian at the end, with cloud-init in Python. */
const LEAST_MEMORY_MB = 512;
const MOST_NODES = 20;
/** Why a machine with a BIOS cannot show these. */
const NEEDS_UEFI = [
  { option: 'immutable', flag: '--immutable', reason: 'its loader, systemd-boot, is an EFI program' },
  { option: 'secureBoot', flag: '--secure-boot', reason: 'a BIOS checks no signatures' },
  { option: 'httpsBoot', flag: '--https-boot', reason: 'a BIOS boots over the network by PXE only' },
] as const;

/** Checks the options of `npm run demo`. */
export function readDemoOptions(options: Record<string, string | boolean>): DemoOptions {
  const flag = (name: string) => options[name] === true;
  const nodes = wholeNumber('--nodes', options['nodes'] ?? '1', { least: 1, most: MOST_NODES });
  const memoryMb = wholeNumber('--memory', options['memory'], { least: LEAST_MEMORY_MB, most: 65_536 });
  const picture = typeof options['picture'] === 'string' ? options['picture'] : undefined;
  const impossible = NEEDS_UEFI.find(({ option }) => flag('bios') && flag(option));
  if (impossible)
    throw new KindlingError('KND_USAGE', `${impossible.flag} goes without --bios: ${impossible.reason}`);
  if (flag('json') && (flag('console') || picture !== undefined)) {
    throw new KindlingError('KND_USAGE', '--json goes with neither --console nor --picture');
  }
  return {
    firmware: flag('bios') ? 'seabios' : flag('secureBoot') ? 'ovmf-secure-boot' : 'ovmf',
    nodes,
    isImmutable: flag('immutable'),
    isHttpsBoot: flag('httpsBoot'),
    memoryMb,
    isJson: flag('json'),
    showConsole: flag('console'),
    keep: flag('keep'),
    picture,
  };
}

function wholeNumber(
  option: string,
  text: string | boolean | undefined,
  { least, most }: { least: number; most: number },
): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new KindlingError('KND_USAGE', `${option} ${text}: give a whole number from ${least} to ${most}`);
  }
  return value;
}
