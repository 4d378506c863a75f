import type { Signature } from '../../protocol/inventory.ts';
import type { ReadAt } from '../partition-table/table.ts';
import { FILE_SYSTEMS } from './file-systems.ts';
import { MEMBERS } from './members.ts';
import type { SignatureRule } from './rule.ts';

/** A signature and the bytes that make tools recognize it: zero those and it is gone (wipefs works the same way). */
export interface FoundSignature extends Signature {
  magicOffset: number;
  magicBytes: number;
}

const RULES: readonly SignatureRule[] = [...MEMBERS, ...FILE_SYSTEMS];

/**
 * Finds every known signature on a device or partition of `sizeBytes`, backup copies included.
 * Pure: it only reads through `readAt`, and never throws because of what it reads.
 */
export async function probeSignatures(readAt: ReadAt, sizeBytes: number): Promise<FoundSignature[]> {
  const found: FoundSignature[] = [];
  const read = cached(readAt, sizeBytes);
  for (const rule of RULES) {
    for (const base of rule.bases(sizeBytes)) {
      if (base < 0 || base + rule.length > sizeBytes) continue;
      const block = await read(base, rule.length);
      if (block.length < rule.length) continue;
      const match = rule.match(block, base);
      if (!match) continue;
      const { magicAt, magicBytes, ...signature } = match;
      found.push({ ...signature, magicOffset: base + magicAt, magicBytes });
    }
  }
  return onePerPlace(found);
}

/** One entry per type and uuid, for people and the inventory: copies of one superblock are one thing. */
export function summarizeSignatures(found: readonly FoundSignature[]): Signature[] {
  const summary = new Map<string, Signature>();
  for (const { type, label, uuid } of found) {
    const key = `${type}\0${uuid ?? ''}`;
    if (summary.has(key)) continue;
    summary.set(key, { type, ...(label ? { label } : {}), ...(uuid ? { uuid } : {}) });
  }
  return [...summary.values()];
}

/** On a small device the copies at both ends can be the same bytes; one hit per place is enough. */
function onePerPlace(found: FoundSignature[]): FoundSignature[] {
  const places = new Map(found.map((hit) => [`${hit.type}@${hit.magicOffset}`, hit]));
  return [...places.values()];
}

/** The first 512 KiB and the last 1 MiB hold nearly every signature: reading each once keeps slow disks quick. */
function cached(readAt: ReadAt, sizeBytes: number): ReadAt {
  const HEAD = 512 * 1024;
  const TAIL = 1024 * 1024;
  const tailStart = Math.max(0, sizeBytes - TAIL);
  const windows = [
    { start: 0, length: Math.min(HEAD, sizeBytes) },
    { start: tailStart, length: sizeBytes - tailStart },
  ].map(({ start, length }) => ({ start, length, bytes: undefined as Promise<Buffer> | undefined }));
  return async (offset, length) => {
    for (const window of windows) {
      if (offset < window.start || offset + length > window.start + window.length) continue;
      window.bytes ??= readAt(window.start, window.length);
      const from = offset - window.start;
      return (await window.bytes).subarray(from, from + length);
    }
    return readAt(offset, length);
  };
}
