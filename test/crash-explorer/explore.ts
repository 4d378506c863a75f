import { createHash } from 'node:crypto';
import { seededRandom } from '../actions/image-writer/test-image.ts';
import { type DiskView, finderSectors } from './find-system.ts';
import { judge } from './judge.ts';
import type { Operation } from './trace.ts';

export interface Exploration {
  /** Disks that differ from each other. */
  states: number;
  /** How many of them hold nothing that somebody would find, the new system, the old one. */
  nothing: number;
  whole: number;
  /** What a power cut must never leave, in words. */
  half: string[];
}

export interface ExploreOptions {
  /** The disk before the first operation. */
  before: Buffer;
  sectorSize: number;
  /** How many distinct disks. */
  count: number;
  seed: number;
  /** Whether a disk may be left like this; without it, whether there is one of the two systems or none (judge.ts). */
  judge?: (disk: DiskView) => 'nothing' | 'whole' | string;
}

/** A content that a sector has, had, or may get; 0 is zeros. */
type Content = number;

/** After this many disks that were seen before, nothing new is expected between these two syncs. */
const ENOUGH_REPEATS = 100;

/** What a power cut at this moment can do: each sector keeps what was synced, or has any of these. */
interface Moment {
  event: number;
  synced: Int32Array;
  identity: number;
  pending: { sector: number; contents: Content[] }[];
}

/**
 * Enumerates disks that a power cut could leave behind: whatever was not synced is there or not, sector by sector, in any order, in any
 * of the versions it had. Moments and choices are drawn from the seed, those between two syncs as often as those between two others.
 */
export function explore(operations: readonly Operation[], options: ExploreOptions): Exploration {
  const { before, sectorSize, count, seed } = options;
  const contents = new Contents(sectorSize);
  const old = contents.ofDisk(before);
  const epochs = epochsOf(operations, old, contents);
  const final = finalOf(operations, old, contents);
  const { judge: asked } = options;
  const judgeCrash = asked
    ? (disk: Int32Array) => asked(viewOf(disk, contents))
    : judgeSystems(contents, old, final);
  const random = seededRandom(seed);
  const seen = new Set<number>();
  const found: Exploration = { states: 0, nothing: 0, whole: 0, half: [] };

  /** Those that still have something new. */
  const open = epochs.map((moments) => ({ moments, repeats: 0 }));
  while (seen.size < count && open.length > 0) {
    const at = Math.floor(random() * open.length);
    const epoch = open[at];
    const moment = epoch?.moments[Math.floor(random() * epoch.moments.length)];
    if (!epoch || !moment) break;
    const { disk, identity } = crash(moment, random);
    if (seen.has(identity)) {
      epoch.repeats += 1;
      if (epoch.repeats === ENOUGH_REPEATS) open.splice(at, 1);
      continue;
    }
    epoch.repeats = 0;
    seen.add(identity);
    const verdict = judgeCrash(disk);
    if (verdict === 'nothing' || verdict === 'whole') found[verdict] += 1;
    else found.half.push(`event ${moment.event}: ${verdict}`);
  }
  return { ...found, states: seen.size };
}

/** Sectors by their content. */
class Contents {
  readonly sectorSize: number;
  readonly bytes: Buffer[];
  readonly #known = new Map<string, Content>();

  constructor(sectorSize: number) {
    this.sectorSize = sectorSize;
    this.bytes = [Buffer.alloc(sectorSize)];
    this.#known.set(this.#key(Buffer.alloc(sectorSize)), 0);
  }

  of(sector: Buffer): Content {
    const key = this.#key(sector);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#known.set(key, this.bytes.length);
    return this.bytes.push(Buffer.from(sector)) - 1;
  }

  ofDisk(disk: Buffer): Int32Array {
    return Int32Array.from({ length: disk.length / this.sectorSize }, (_, i) =>
      this.of(disk.subarray(i * this.sectorSize, (i + 1) * this.sectorSize)),
    );
  }

  #key(sector: Buffer): string {
    return createHash('sha1').update(sector).digest('latin1');
  }
}

/** What each write puts where; the sectors at its ends may be written in part, and hold the rest of what was there. */
function sectorsOf(
  { position, bytes }: Operation,
  current: Int32Array,
  contents: Contents,
): { sector: number; content: Content }[] {
  const { sectorSize } = contents;
  const first = Math.floor(position / sectorSize);
  const last = Math.ceil((position + bytes.length) / sectorSize);
  return Array.from({ length: last - first }, (_, i) => {
    const sector = first + i;
    const start = sector * sectorSize - position;
    if (start >= 0 && start + sectorSize <= bytes.length) {
      return { sector, content: contents.of(bytes.subarray(start, start + sectorSize)) };
    }
    const whole = Buffer.from(contents.bytes[current[sector] ?? 0] ?? []);
    bytes.copy(whole, Math.max(0, -start), Math.max(0, start));
    return { sector, content: contents.of(whole) };
  });
}

interface PlacedWrite {
  operation: Operation;
  sectors: { sector: number; content: Content }[];
}

function place(operations: readonly Operation[], old: Int32Array, contents: Contents): PlacedWrite[] {
  const current = old.slice();
  return operations
    .filter(({ kind }) => kind === 'write')
    .map((operation) => {
      const sectors = sectorsOf(operation, current, contents);
      for (const { sector, content } of sectors) current[sector] = content;
      return { operation, sectors };
    });
}

function finalOf(operations: readonly Operation[], old: Int32Array, contents: Contents): Int32Array {
  const final = old.slice();
  for (const { sectors } of place(operations, old, contents)) {
    for (const { sector, content } of sectors) final[sector] = content;
  }
  return final;
}

/** Every moment at which a write begins, and the one after the last, in groups: from sync to sync. */
function epochsOf(operations: readonly Operation[], old: Int32Array, contents: Contents): Moment[][] {
  const syncs = operations.filter(({ kind, end }) => kind === 'sync' && Number.isFinite(end));
  const writes = place(operations, old, contents);
  const bounds = [...syncs.map(({ end }) => end), Number.POSITIVE_INFINITY];
  let synced = old.slice();
  let pending: PlacedWrite[] = [];
  let next = 0;
  return bounds.map((bound, index) => {
    const moments: Moment[] = [];
    const identity = identityOf(synced);
    const note = (event: number) => moments.push({ ...momentOf(event, synced, pending), identity });
    while ((writes[next]?.operation.begin ?? bound) < bound) {
      pending.push(writes[next] as PlacedWrite);
      note(writes[next]?.operation.begin ?? 0);
      next += 1;
    }
    if (moments.length === 0) note(Math.min(bound, 1e9));
    // what had ended when this sync began is on the medium now
    const sync = syncs[index];
    synced = synced.slice();
    const isSynced = ({ operation }: PlacedWrite) => sync !== undefined && operation.end < sync.begin;
    for (const { sectors } of pending.filter(isSynced)) {
      for (const { sector, content } of sectors) synced[sector] = content;
    }
    pending = pending.filter((write) => !isSynced(write));
    return moments;
  });
}

function momentOf(
  event: number,
  synced: Int32Array,
  writes: readonly PlacedWrite[],
): Omit<Moment, 'identity'> {
  const pending = new Map<number, Content[]>();
  for (const { sectors } of writes) {
    for (const { sector, content } of sectors) {
      const contents = pending.get(sector) ?? [];
      pending.set(sector, contents);
      contents.push(content);
    }
  }
  return {
    event,
    synced,
    pending: [...pending].map(([sector, contents]) => ({ sector, contents })),
  };
}

/** Of the sectors that may have got through: few did, or nearly all, or every other one. */
function crash(moment: Moment, random: () => number): Crash {
  const { pending, synced } = moment;
  const draw = random();
  const start = draw < 0.45 ? { disk: synced, identity: moment.identity } : allOf(moment);
  const disk = start.disk.slice();
  let { identity } = start;
  const put = (sector: number, content: Content) => {
    identity ^= mix(sector, disk[sector] ?? 0) ^ mix(sector, content);
    disk[sector] = content;
  };
  const choose = (index: number) => {
    const { sector, contents } = pending[index] ?? { sector: 0, contents: [0] };
    const version = Math.floor(random() * (contents.length + 1));
    put(sector, contents[version] ?? synced[sector] ?? 0);
  };
  if (draw > 0.9) {
    for (let i = 0; i < pending.length; i += 1) if (random() < 0.5) choose(i);
  } else {
    const count = Math.ceil(random() ** 4 * Math.min(200, pending.length));
    for (let i = 0; i < count; i += 1) choose(Math.floor(random() * pending.length));
  }
  return { disk, identity };
}

const whenAll = new WeakMap<Moment, Crash>();

/** The disk with all that was written at this moment. */
function allOf(moment: Moment): Crash {
  const known = whenAll.get(moment);
  if (known) return known;
  const disk = moment.synced.slice();
  for (const { sector, contents } of moment.pending) disk[sector] = contents.at(-1) ?? 0;
  const all = { disk, identity: identityOf(disk) };
  whenAll.set(moment, all);
  return all;
}

interface Crash {
  disk: Int32Array;
  /** The same for the same disk, and hardly ever for another one: all that counts is how many there are. */
  identity: number;
}

function identityOf(disk: Int32Array): number {
  let mixed = 0;
  for (let sector = 0; sector < disk.length; sector += 1) mixed ^= mix(sector, disk[sector] ?? 0);
  return mixed;
}

function mix(sector: number, content: Content): number {
  let value = Math.imul(sector + 1, 0x9e3779b1) ^ Math.imul(content + 1, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return value ^ (value >>> 13);
}

function viewOf(disk: Int32Array, { sectorSize, bytes }: Contents): DiskView {
  return {
    sectorSize,
    sectorCount: disk.length,
    sector: (number) => bytes[disk[number] ?? 0] ?? Buffer.alloc(0),
  };
}

function judgeSystems(contents: Contents, old: Int32Array, final: Int32Array) {
  return (disk: Int32Array): string =>
    judge(
      viewOf(disk, contents),
      [final, old].map((system) => ({
        finders: finderSectors(viewOf(system, contents)),
        hasSector: (_, sector) => disk[sector] === system[sector],
      })),
    );
}
