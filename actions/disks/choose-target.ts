import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { describeDisk } from './describe-disk.ts';
import { asksForNetwork, type DiskSelector, parseDiskSelector } from './disk-selector.ts';

/** What was asked for. Without a device and a selector the policy `emf` decides. */
export interface DiskRequest {
  /** DEST_DISK: /dev/sda, /dev/disk/by-id/…, /dev/disk/by-path/…. An order by name, so removable and USB disks are allowed. */
  device?: string | undefined;
  /** KINDLING_DISK, see disk-selector.ts. */
  selector?: string | undefined;
  /** Smaller disks are no candidates. */
  minimumBytes?: number;
}

/** Why a disk was kept or rejected; the whole list is part of every plan and of every error about disks. */
export interface DiskVerdict {
  disk: Disk;
  isKept: boolean;
  reason: string;
}

export interface DiskChoice {
  disk: Disk;
  verdicts: DiskVerdict[];
}

/** Picks the one disk an image is written to, or says why it cannot. Pure: the same disks in any order give the same answer. */
export function chooseTargetDisk(disks: readonly Disk[], request: DiskRequest = {}): DiskChoice {
  if (request.device !== undefined) return chooseByName(disks, request.device, request);
  const selector = request.selector === undefined ? undefined : parseDiskSelector(request.selector);
  const verdicts = disks.map((disk) => judge(disk, request, selector)).sort(byName);
  const candidates = verdicts.filter(({ isKept }) => isKept).map(({ disk }) => disk);
  if (candidates.length === 0) {
    throw new KindlingError('KND_DISK_NONE', `no disk can be the target:\n${listVerdicts(verdicts)}`, {
      evidence: { verdicts: verdicts.map(briefly) },
    });
  }
  const order = selector ? orderOf(selector.preference) : emfOrder;
  const tied = candidates.filter((disk) => candidates.every((other) => order(disk, other) <= 0));
  // A selector that fits two disks was meant to be clearer; the policy is there to decide.
  const first = tied.length === 1 ? tied[0] : selector ? undefined : firstByStableIdentity(tied);
  if (!first) {
    throw new KindlingError(
      'KND_DISK_AMBIGUOUS',
      `${selector ? `the selector "${request.selector}" fits` : 'the policy emf leaves'} more than one disk:\n${listVerdicts(verdicts)}`,
      { evidence: { verdicts: verdicts.map(briefly) } },
    );
  }
  return { disk: first, verdicts: verdicts.map((verdict) => ranked(verdict, first)) };
}

function chooseByName(disks: readonly Disk[], device: string, request: DiskRequest): DiskChoice {
  const disk = findDisk(disks, device);
  const verdicts = disks
    .map(
      (each): DiskVerdict => ({
        disk: each,
        isKept: each === disk,
        reason: each === disk ? `named by ${device}` : `not ${device}`,
      }),
    )
    .sort(byName);
  if (!disk) {
    throw new KindlingError(
      'KND_DISK_NOT_FOUND',
      `there is no disk ${device}; there are:\n${listVerdicts(verdicts)}`,
      {
        evidence: { device, disks: disks.map(({ path }) => path) },
      },
    );
  }
  const reason = whyNever(disk) ?? (tooSmall(disk, request) || undefined);
  if (reason) {
    throw new KindlingError(
      'KND_DISK_REFUSED',
      `${device} cannot be the target: ${reason} (${describeDisk(disk)})`,
      {
        evidence: { device, reason },
      },
    );
  }
  return { disk, verdicts };
}

/**
 * The disk a path names: its kernel name or one of the links udev would make. A link that two disks share (cheap ones have the same serial number, master
 * and slave the same port) names neither.
 */
export function findDisk(disks: readonly Disk[], device: string): Disk | undefined {
  const named = disks.filter(
    (disk) =>
      disk.path === device || disk.links.some((link) => link === device || `/dev/disk/${link}` === device),
  );
  if (named.length < 2) return named[0];
  const verdicts = named.map((disk) => ({ disk, isKept: true, reason: `named by ${device}` }));
  throw new KindlingError(
    'KND_DISK_AMBIGUOUS',
    `${device} is the name of more than one disk:\n${listVerdicts(verdicts)}`,
    { evidence: { device, verdicts: verdicts.map(briefly) } },
  );
}

function judge(disk: Disk, request: DiskRequest, selector: DiskSelector | undefined): DiskVerdict {
  const failed = selector?.terms.find((term) => !term.matches(disk));
  const reason =
    whyNever(disk) ??
    whyNotByItself(disk, selector) ??
    (tooSmall(disk, request) || undefined) ??
    (failed ? `does not fit ${failed.text}` : undefined);
  return { disk, isKept: reason === undefined, reason: reason ?? 'can be the target' };
}

/** What no order can turn into a target. */
export function whyNever(disk: Disk): string | undefined {
  if (disk.isBootMedium) return 'the Micro-OS was booted from it';
  if (disk.isVirtualMedia) return 'it is virtual media of a BMC';
  if (disk.isReadOnly) return 'it is read-only';
  if (disk.sizeBytes === 0) return 'it has no medium';
  if (['cdrom', 'ram', 'zram', 'mmc-boot', 'floppy'].includes(disk.kind))
    return `it is a ${disk.kind} device`;
  return undefined;
}

/** What is only a target when it is named: a policy must never pick it. A network disk may also be asked for by a selector that says so. */
export function whyNotByItself(disk: Disk, selector?: DiskSelector): string | undefined {
  if (disk.kind !== 'disk') return `it is a ${disk.kind} device`;
  if (disk.isRemovable) return 'it is removable';
  // A USB-SATA bridge says "not removable"; the installer stick would be wiped
  // (docs/background/emf.md#choosing-a-disk).
  if (disk.bus === 'usb') return 'it is attached by USB';
  if (disk.network !== undefined && !(selector && asksForNetwork(selector)))
    return `it is a network disk (${disk.network}), which other machines may use`;
  return undefined;
}

function tooSmall(disk: Disk, { minimumBytes = 0 }: DiskRequest): string {
  return disk.sizeBytes < minimumBytes ? `it is smaller than the ${minimumBytes} bytes needed` : '';
}

/** The order of EMF's drive detection: sd* before nvme* before the rest, the smaller first. */
function emfOrder(a: Disk, b: Disk): number {
  const rank = ({ name }: Disk) => (name.startsWith('sd') ? 0 : name.startsWith('nvme') ? 1 : 2);
  return rank(a) - rank(b) || a.sizeBytes - b.sizeBytes;
}

function orderOf(preference: DiskSelector['preference']): (a: Disk, b: Disk) => number {
  if (preference === 'smallest') return (a, b) => a.sizeBytes - b.sizeBytes;
  if (preference === 'largest') return (a, b) => b.sizeBytes - a.sizeBytes;
  return () => 0;
}

/**
 * EMF breaks ties by kernel name, which changes between boots. Ours looks at what stays: where the disk is plugged in, else what it is.
 * Undefined if nothing that all of them have tells them apart.
 */
function firstByStableIdentity(tied: readonly Disk[]): Disk | undefined {
  const keys = [
    ({ links }: Disk) => links.filter((link) => link.includes('by-path/')).toSorted()[0],
    ({ wwn }: Disk) => wwn,
    ({ serial }: Disk) => serial,
  ];
  for (const key of keys) {
    const values = tied.map(key);
    if (values.includes(undefined) || new Set(values).size < tied.length) continue;
    const [lowest] = values.toSorted();
    return tied[values.indexOf(lowest)];
  }
  return undefined;
}

function byName(a: DiskVerdict, b: DiskVerdict): number {
  return a.disk.name < b.disk.name ? -1 : 1;
}

function ranked(verdict: DiskVerdict, chosen: Disk): DiskVerdict {
  if (!verdict.isKept) return verdict;
  return { ...verdict, reason: verdict.disk === chosen ? 'chosen' : 'another disk comes first' };
}

function listVerdicts(verdicts: readonly DiskVerdict[]): string {
  if (verdicts.length === 0) return '  (no disks at all)';
  return verdicts
    .map(({ disk, isKept, reason }) => `  ${isKept ? '+' : '-'} ${describeDisk(disk)}: ${reason}`)
    .join('\n');
}

function briefly({ disk, isKept, reason }: DiskVerdict) {
  return { path: disk.path, serial: disk.serial, sizeBytes: disk.sizeBytes, isKept, reason };
}
