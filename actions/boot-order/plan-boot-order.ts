import { fileOf, type HardDriveNode, hardDriveOf, pathToLoader } from '../../formats/efi/device-path.ts';
import { ACTIVE, encodeLoadOption, type LoadOption } from '../../formats/efi/load-option.ts';
import { bootEntryName, encodeEntryNumbers } from '../../formats/efi/variables.ts';
import type { BootState } from './boot-state.ts';

/**
 * disk-first: the installed system leads. keep-order: it is added at the end, the first boot goes to it all the same (BootNext).
 * after-report: what the Micro-OS was booted from leads, the disk follows and gets the next boot only; the installed system moves itself
 * to the head once it has reported (protocol/commit-boot-order.ts). One that never reports is followed by the Micro-OS.
 */
export type BootPolicy = 'disk-first' | 'keep-order' | 'after-report';

export interface WantedBoot {
  label: string;
  drive: HardDriveNode;
  /** With backslashes: \EFI\BOOT\BOOTX64.EFI */
  loader: string;
  policy: BootPolicy;
  /** GUIDs of every partition the machine has, this one's included: what leads to another system that is there is no leftover. */
  partitions: readonly string[];
  /** Labels whose entries go: leftovers of installers (EMF removes "hookos"). */
  removeLabels: readonly string[];
  /** Move the entry the machine was booted from behind all others, as efibootset does. */
  demoteCurrent: boolean;
}

type Change = { name: string; value: Buffer } | { name: string; remove: true };

export interface BootPlan {
  changes: Change[];
  /** In words, in the same order. */
  summary: string[];
  entry: number;
  order: number[];
}

/**
 * What to write so that the machine boots the installed system, in an order that leaves it bootable wherever it stops: the entry first,
 * then BootNext and BootOrder, removals last. Foreign entries are never changed; of ours, duplicates go.
 */
export function planBootOrder(state: BootState, wanted: WantedBoot): BootPlan {
  const option: LoadOption = {
    attributes: ACTIVE,
    description: wanted.label,
    devicePath: pathToLoader(wanted.drive, wanted.loader),
    optionalData: Buffer.alloc(0),
  };
  const encoded = encodeLoadOption(option);
  const ours = [...state.entries].filter(([, entry]) => isOurs(entry, wanted)).map(([number]) => number);
  const same = ours.find((number) => {
    const entry = state.entries.get(number);
    return entry && encodeLoadOption(entry).equals(encoded);
  });
  const entry = same ?? freeNumber(state);
  const unwanted = [...state.entries]
    .filter(
      ([number, { description }]) =>
        number !== entry && wanted.removeLabels.some((label) => description.toLowerCase().includes(label)),
    )
    .map(([number]) => number);
  const gone = new Set([...ours.filter((number) => number !== entry), ...unwanted]);
  const order = newOrder(state, wanted, entry, gone);

  const changes: Change[] = [];
  const summary: string[] = [];
  if (same === undefined) {
    changes.push({ name: bootEntryName(entry), value: encoded });
    summary.push(
      `new entry ${bootEntryName(entry)} “${wanted.label}” for ${wanted.loader} on partition ${wanted.drive.partUuid}`,
    );
  }
  if (state.next !== entry) {
    changes.push({ name: 'BootNext', value: encodeEntryNumbers([entry]) });
    summary.push(`the next boot goes to ${bootEntryName(entry)}`);
  }
  if (order.join() !== state.order.join()) {
    changes.push({ name: 'BootOrder', value: encodeEntryNumbers(order) });
    summary.push(`boot order ${order.map((number) => bootEntryName(number).slice(4)).join(', ')}`);
  }
  for (const number of gone) {
    changes.push({ name: bootEntryName(number), remove: true });
    summary.push(`remove ${bootEntryName(number)} “${state.entries.get(number)?.description}”`);
  }
  return { changes, summary, entry, order };
}

/**
 * Ours is what carries our label and leads to our partition or to one that is gone, or leads to the same loader on our partition under another
 * label of Kindling's. An entry of the same name for another system that is there ("ubuntu" on the second disk) is not, whatever BOOT_LABEL says.
 */
function isOurs(entry: LoadOption, { label, drive, loader, partitions }: WantedBoot): boolean {
  const place = hardDriveOf(entry.devicePath)?.partUuid;
  const hasOurName = entry.description.startsWith('Kindling');
  if (entry.description === label) {
    if (place === undefined) return hasOurName;
    return place === drive.partUuid || !partitions.includes(place);
  }
  const isSameLoader = fileOf(entry.devicePath)?.toLowerCase() === loader.toLowerCase();
  return hasOurName && place === drive.partUuid && isSameLoader;
}

function freeNumber({ entries, order }: BootState): number {
  let number = 0;
  while (entries.has(number) || order.includes(number)) number++;
  return number;
}

function newOrder(state: BootState, wanted: WantedBoot, entry: number, gone: ReadonlySet<number>): number[] {
  const rest = state.order.filter((number) => number !== entry && !gone.has(number));
  const { current } = state;
  const hasWayBack = current !== undefined && current !== entry && rest.includes(current);
  if (wanted.policy === 'after-report' && hasWayBack)
    return [current, entry, ...rest.filter((number) => number !== current)];
  // Without a way back there is nothing to lead: the order stays, as for a site that wants it so.
  if (wanted.policy === 'keep-order' || wanted.policy === 'after-report')
    return state.order.includes(entry) ? state.order.filter((number) => !gone.has(number)) : [...rest, entry];
  if (!wanted.demoteCurrent || current === undefined || !rest.includes(current)) return [entry, ...rest];
  return [entry, ...rest.filter((number) => number !== current), current];
}
