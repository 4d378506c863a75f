import { type Stats, statSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';

/** What is known about the thing a stick is written to. */
export type StickTarget =
  | { kind: 'image-file'; path: string }
  /** Something that no stick is written to, and why. */
  | { kind: 'unusable'; path: string; reason: string }
  | {
      kind: 'device';
      path: string;
      sizeBytes: number;
      /** The kernel says removable, or it hangs on USB. */
      isRemovable: boolean;
      isWholeDisk: boolean;
      /** Mount points of the disk and its partitions; [SWAP] for swap. */
      mounts: string[];
    };

/** Reads what is needed to decide; `sys` and `proc` are other folders in tests. */
export async function inspectTarget(
  path: string,
  roots = { sys: '/sys', proc: '/proc' },
): Promise<StickTarget> {
  let stats: Stats | undefined;
  try {
    stats = statSync(path);
  } catch {
    // A mistyped device must not become a file in /dev, which is memory.
    const isBelowDev = resolve(path).startsWith('/dev/');
    return isBelowDev ? { kind: 'unusable', path, reason: 'does not exist' } : { kind: 'image-file', path };
  }
  if (stats.isFile()) return { kind: 'image-file', path };
  if (!stats.isBlockDevice()) return { kind: 'unusable', path, reason: 'is neither a device nor a file' };
  const name = basename(await realpath(path));
  return deviceFacts(path, name, roots);
}

export async function deviceFacts(
  path: string,
  name: string,
  roots: { sys: string; proc: string },
): Promise<StickTarget> {
  const text = async (file: string) => (await readFile(file, 'utf8').catch(() => '')).trim();
  const folder = `${roots.sys}/class/block/${name}`;
  const where = await realpath(folder).catch(() => folder);
  return {
    kind: 'device',
    path,
    sizeBytes: Number(await text(`${folder}/size`)) * 512,
    isRemovable: (await text(`${folder}/removable`)) === '1' || /\/usb\d+\//.test(where),
    isWholeDisk: (await text(`${folder}/partition`)) === '',
    mounts: [
      ...mountsOf(name, await text(`${roots.proc}/self/mounts`)),
      ...swapsOf(name, await text(`${roots.proc}/swaps`)),
    ],
  };
}

/** Lines "/dev/sdb1 /media/stick vfat …"; a partition of sdb is sdb1, of nvme0n1 nvme0n1p1. */
function mountsOf(name: string, mounts: string): string[] {
  const lines = mounts.split('\n').map((line) => line.split(' '));
  return lines.filter(([device = '']) => isOf(name, device)).map(([, point = '']) => point);
}

function swapsOf(name: string, swaps: string): string[] {
  return swaps.split('\n').some((line) => isOf(name, line.split(/\s/)[0] ?? '')) ? ['[SWAP]'] : [];
}

function isOf(name: string, device: string): boolean {
  const own = basename(device);
  return device.startsWith('/dev/') && (own === name || new RegExp(`^${name}p?\\d+$`).test(own));
}

/** Throws unless a stick of this size may be written there. Every refusal says which rule, and why. `sources` are read for the stick. */
export function refuseUnsafeTarget(
  target: StickTarget,
  neededBytes: number,
  sources: readonly string[] = [],
): void {
  const refuse = (reason: string, hint?: string) => {
    throw new KindlingError('KND_STICK_TARGET_REFUSED', `${target.path} ${reason}`, {
      ...(hint === undefined ? {} : { hint }),
      evidence: { ...target, neededBytes },
    });
  };
  if (target.kind === 'unusable') {
    refuse(target.reason);
    return;
  }
  if (target.kind === 'image-file') {
    const isSource = sources.some((source) => resolve(source) === resolve(target.path));
    if (isSource) refuse('is part of what the stick is made of', 'Give another name.');
    return;
  }
  if (!target.isWholeDisk) refuse('is a partition; give the whole device');
  if (!target.isRemovable) refuse('is not removable and not on USB: it may be a disk of this computer');
  if (target.mounts.length > 0) {
    refuse(`is in use at ${target.mounts.join(', ')}`, 'Unmount it first.');
  }
  if (target.sizeBytes < neededBytes) {
    refuse(
      `has ${megabytes(target.sizeBytes)} MB; the stick needs ${megabytes(neededBytes)} MB`,
      'Take a larger stick.',
    );
  }
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1e6);
}
