import { createWriteStream } from 'node:fs';
import { chmod, lchown, link, lutimes, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Extract, extract, type Header } from 'tar-stream';
import type { Run } from '../../agent/system/run.ts';
import { KindlingError } from '../../protocol/error.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { setExtendedAttribute } from './extended-attributes.ts';

interface UnpackOptions {
  run: Run;
  signal: AbortSignal;
  /** Layers of container images: `.wh.name` removes what a lower layer had, `.wh..wh..opq` all of a directory. */
  hasWhiteouts?: boolean;
}

const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';

/**
 * Unpacks a tar stream below `root` with owners, modes, times, links, devices and extended attributes. No entry can leave `root`: parents are
 * resolved inside it, whatever links an earlier entry made.
 */
export async function unpackTar(
  stream: Readable,
  root: string,
  options: UnpackOptions,
): Promise<{ entries: number }> {
  const unpacker = extract();
  const feeding = pipeline(stream, unpacker, { signal: options.signal });
  // An archive that ends too early only shows where it is fed in; the reading side would wait for the rest for ever.
  const [entries] = await Promise.all([
    Promise.race([placeEntries(unpacker, root, options), feeding.then(() => new Promise<never>(() => {}))]),
    feeding,
  ]);
  return { entries };
}

async function placeEntries(unpacker: Extract, root: string, options: UnpackOptions): Promise<number> {
  const directoryTimes: { at: string; mtime: Date }[] = [];
  /** What this layer itself put there: its own opaque mark does not remove it. */
  const placed = new Set<string>();
  let entries = 0;
  for await (const entry of unpacker) {
    options.signal.throwIfAborted();
    const { header } = entry;
    const name = path.basename(header.name);
    const parent = await parentOf(root, header.name);
    const target = path.join(parent, name);
    if (options.hasWhiteouts && name.startsWith(WHITEOUT)) {
      await applyWhiteout(parent, name, placed);
      entry.resume();
      continue;
    }
    await placeEntry(header, entry as unknown as AsyncIterable<Buffer>, target, root, options);
    placed.add(target);
    entries++;
    if (header.type === 'directory') directoryTimes.push({ at: target, mtime: header.mtime });
    entry.resume();
  }
  // Last, because every file that was put into a directory changed its time.
  for (const { at, mtime } of directoryTimes.reverse()) await lutimes(at, mtime, mtime).catch(() => {});
  return entries;
}

async function parentOf(root: string, name: string): Promise<string> {
  if (name.includes('\0'))
    throw new KindlingError('KND_ARCHIVE_INVALID', 'the archive has an entry with a NUL in its name');
  // «..» is resolved inside root, so it cannot lead out of it.
  const parent = await pathInRoot(root, path.posix.dirname(`/${name}`));
  await mkdir(parent, { recursive: true });
  return parent;
}

async function applyWhiteout(parent: string, name: string, placed: ReadonlySet<string>): Promise<void> {
  const victims = name === OPAQUE ? await readdir(parent) : [name.slice(WHITEOUT.length)];
  for (const victim of victims) {
    const at = path.join(parent, victim);
    if (name !== OPAQUE || ![...placed].some((own) => own === at || own.startsWith(`${at}/`))) {
      await rm(at, { recursive: true, force: true });
    }
  }
}

async function placeEntry(
  header: Header,
  content: AsyncIterable<Buffer>,
  target: string,
  root: string,
  { run, signal }: UnpackOptions,
): Promise<void> {
  const mode = header.mode ?? 0o644;
  switch (header.type) {
    case 'directory':
      await mkdir(target, { recursive: true });
      break;
    case 'file':
    case 'contiguous-file':
      await rm(target, { recursive: true, force: true });
      await pipeline(content, createWriteStream(target, { mode: 0o600 }), { signal });
      break;
    case 'symlink':
      await rm(target, { recursive: true, force: true });
      await symlink(header.linkname ?? '', target);
      break;
    case 'link':
      await rm(target, { recursive: true, force: true });
      await link(await pathInRoot(root, `/${header.linkname ?? ''}`), target);
      return; // owner and mode are the other name's
    case 'character-device':
    case 'block-device':
    case 'fifo': {
      await rm(target, { recursive: true, force: true });
      const kind = header.type === 'fifo' ? 'p' : header.type === 'block-device' ? 'b' : 'c';
      const numbers = kind === 'p' ? [] : [String(header.devmajor ?? 0), String(header.devminor ?? 0)];
      await run('mknod', [target, kind, ...numbers]);
      break;
    }
    default:
      return; // pax headers and the like describe other entries
  }
  await lchown(target, header.uid ?? 0, header.gid ?? 0);
  if (header.type !== 'symlink') await chmod(target, mode); // after the owner, which clears setuid
  for (const [key, value] of Object.entries((header.pax ?? {}) as Record<string, string>)) {
    if (key.startsWith('SCHILY.xattr.'))
      setExtendedAttribute(target, key.slice('SCHILY.xattr.'.length), value);
  }
  if (header.type !== 'directory')
    await lutimes(target, header.mtime ?? new Date(0), header.mtime ?? new Date(0));
}
