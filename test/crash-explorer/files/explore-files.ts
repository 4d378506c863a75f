import { seededRandom } from '../../actions/image-writer/test-image.ts';
import type { FileOperation } from './record-files.ts';

/** What a power cut has left of a folder. */
export interface FolderAfterCrash {
  files: ReadonlyMap<string, Buffer>;
  /** All that the program had printed until then. */
  notes: readonly string[];
  /** The number of the operation before which it happened. */
  at: number;
}

export interface ExploreFilesOptions {
  /** The files before the first operation; none unless told otherwise. */
  before?: ReadonlyMap<string, Buffer>;
  /** How many crashes. */
  count: number;
  seed: number;
}

const SECTOR = 512;

type Change = Extract<FileOperation, { kind: 'write' | 'truncate' }>;

/** The bytes of a file. */
class Content {
  #bytes: Buffer;
  size: number;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#bytes = Buffer.from(bytes);
    this.size = bytes.length;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.size);
  }

  apply(change: Change): void {
    if (change.kind === 'truncate') {
      this.resize(change.size);
      return;
    }
    const { position, bytes } = change;
    if (position + bytes.length > this.size) this.resize(position + bytes.length);
    bytes.copy(this.#bytes, position);
  }

  resize(size: number): void {
    if (size > this.#bytes.length) {
      const larger = Buffer.alloc(size * 2);
      this.bytes.copy(larger);
      this.#bytes = larger;
    }
    // what is cut off reads as zeros should the file grow again
    if (size < this.size) this.#bytes.fill(0, size, this.size);
    this.size = size;
  }
}

/** One file, whatever its name: what is on the medium, and what was done since. */
class Inode {
  readonly #synced: Content;
  #pending: { change: Change; number: number }[] = [];

  constructor(content?: Buffer) {
    this.#synced = new Content(content);
  }

  change(change: Change, number: number): void {
    this.#pending.push({ change, number });
  }

  sync(covers: number): void {
    for (const { change, number } of this.#pending) if (number < covers) this.#synced.apply(change);
    this.#pending = this.#pending.filter(({ number }) => number >= covers);
  }

  /** Each sector of each write got through or did not; the size is any that it had. */
  afterCrash(random: () => number): Buffer {
    const share = [0, 1, 0.5, 0.1, 0.9][Math.floor(random() * 5)] ?? 1;
    const content = new Content(this.#synced.bytes);
    const sizes = [content.size];
    let size = content.size;
    for (const { change } of this.#pending) {
      size = change.kind === 'truncate' ? change.size : Math.max(size, change.position + change.bytes.length);
      sizes.push(size);
      for (const piece of piecesOf(change)) if (random() < share) content.apply(piece);
    }
    const isSizeFree = share !== 0 && share !== 1 && random() < 0.5;
    if (isSizeFree) content.resize(sizes[Math.floor(random() * sizes.length)] ?? 0);
    return content.bytes;
  }
}

function* piecesOf(change: Change): Generator<Change> {
  if (change.kind === 'truncate') {
    yield change;
    return;
  }
  const { position, bytes } = change;
  for (let start = 0; start < bytes.length; ) {
    const length = Math.min(SECTOR - ((position + start) % SECTOR), bytes.length - start);
    yield { ...change, position: position + start, bytes: bytes.subarray(start, start + length) };
    start += length;
  }
}

/** Names in the folder: `apply` is what a later operation does to them. */
type Names = Map<string, Inode>;
interface NameChange {
  number: number;
  apply: (names: Names) => void;
}

/**
 * Folders that a power cut could leave behind, as a file system with a journal (ext4, XFS) leaves them: names change in the order in
 * which they were changed, and are on the medium with the next sync of any file or folder; data is on the medium when its own file was
 * synced, and before that in any part, also under a new name. Moments are drawn from the seed, between any two syncs as often as
 * between two others.
 */
export function* exploreFiles(
  operations: readonly FileOperation[],
  { before, count, seed }: ExploreFilesOptions,
): Generator<FolderAfterCrash> {
  const random = seededRandom(seed);
  const draws = drawMoments(operations, count, random);
  const folder = new Folder(before);
  for (let at = 0; at <= operations.length; at += 1) {
    for (let draw = 0; draw < (draws[at] ?? 0); draw += 1) {
      yield { files: folder.afterCrash(random), notes: folder.notes, at };
    }
    const operation = operations[at];
    if (operation) folder.apply(operation, at);
  }
}

/** How often the power fails before each operation. */
function drawMoments(operations: readonly FileOperation[], count: number, random: () => number): number[] {
  const bounds = operations.flatMap(({ kind }, number) => (kind === 'sync' ? [number + 1] : []));
  const starts = [0, ...bounds];
  const ends = [...bounds, operations.length + 1];
  const draws: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const epoch = Math.floor(random() * starts.length);
    const [start = 0, end = 0] = [starts[epoch], ends[epoch]];
    const at = start + Math.floor(random() * Math.max(1, end - start));
    draws[at] = (draws[at] ?? 0) + 1;
  }
  return draws;
}

class Folder {
  readonly notes: string[] = [];
  readonly #synced: Names;
  #pending: NameChange[] = [];
  /** As the program sees it. */
  readonly #now: Names;

  constructor(before: ReadonlyMap<string, Buffer> = new Map()) {
    this.#synced = new Map([...before].map(([name, content]) => [name, new Inode(content)]));
    this.#now = new Map(this.#synced);
  }

  apply(operation: FileOperation, number: number): void {
    switch (operation.kind) {
      case 'note':
        this.notes.push(operation.text);
        return;
      case 'sync':
        this.#sync(operation.name, operation.covers);
        return;
      case 'write':
      case 'truncate':
        this.#inode(operation.name).change(operation, number);
        return;
      default:
        this.#rename(operation, number);
    }
  }

  afterCrash(random: () => number): ReadonlyMap<string, Buffer> {
    const names = new Map(this.#synced);
    const count = Math.floor(random() * (this.#pending.length + 1));
    for (const { apply } of this.#pending.slice(0, count)) apply(names);
    // a file under two names for a moment is one file
    const contents = new Map([...new Set(names.values())].map((inode) => [inode, inode.afterCrash(random)]));
    return new Map([...names].map(([name, inode]) => [name, contents.get(inode) ?? Buffer.alloc(0)]));
  }

  #sync(name: string, covers: number): void {
    this.#now.get(name)?.sync(covers);
    for (const { number, apply } of this.#pending) if (number < covers) apply(this.#synced);
    this.#pending = this.#pending.filter(({ number }) => number >= covers);
  }

  #rename(operation: Extract<FileOperation, { kind: 'create' | 'rename' | 'unlink' }>, number: number): void {
    const { kind, name } = operation;
    const inode = this.#now.get(name);
    if (kind === 'create' && inode) {
      if (operation.isEmptied) inode.change({ kind: 'truncate', name, size: 0 }, number);
      return;
    }
    const file = inode ?? new Inode();
    const apply = (names: Names) => {
      if (kind !== 'create') names.delete(name);
      if (kind === 'create') names.set(name, file);
      if (kind === 'rename') names.set(operation.to, file);
    };
    apply(this.#now);
    this.#pending.push({ number, apply });
  }

  #inode(name: string): Inode {
    const inode = this.#now.get(name);
    if (!inode) throw new Error(`${name} is written to, and was never made`);
    return inode;
  }
}
