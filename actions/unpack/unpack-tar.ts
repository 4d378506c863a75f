import { createWriteStream } from 'node:fs';
import { chmod, lchown, link, lstat, lutimes, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Extract, extract, type Header } from 'tar-stream';
import { KindlingError } from '../../protocol/error.ts';
import type { Run } from '../../system/run.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { keepAttributesBinary, setExtendedAttribute } from './extended-attributes.ts';

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
  keepAttributesBinary(unpacker);
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
    const { parent, name } = await placeOf(root, header.name);
    if (options.hasWhiteouts && name.startsWith(WHITEOUT)) {
      await applyWhiteout(parent, name, placed);
      entry.resume();
      continue;
    }
    const target = await placeEntry(
      header,
      entry as unknown as AsyncIterable<Buffer>,
      path.join(parent, name),
      root,
      options,
    );
    placed.add(target);
    entries++;
    if (header.type === 'directory') directoryTimes.push({ at: target, mtime: header.mtime });
    entry.resume();
  }
  // Last, because every file that was put into a directory changed its time.
  for (const { at, mtime } of directoryTimes.reverse()) await lutimes(at, mtime, mtime).catch(() => {});
  return entries;
}

/** The directory an entry goes into, made if need be, and its name there; empty for the root itself. ".." cannot lead out of root. */
async function placeOf(root: string, entryName: string): Promise<{ parent: string; name: string }> {
  if (entryName.includes('\0'))
    throw new KindlingError('KND_ARCHIVE_INVALID', 'the archive has an entry with a NUL in its name');
  const whole = path.posix.normalize(`/${entryName}`).replace(/\/$/, '');
  const parent = await pathInRoot(root, path.posix.dirname(whole || '/'));
  await mkdir(parent, { recursive: true });
  return { parent, name: path.posix.basename(whole) };
}

async function applyWhiteout(parent: string, name: string, placed: ReadonlySet<string>): Promise<void> {
  const victims = name === OPAQUE ? await readdir(parent) : [name.slice(WHITEOUT.length)];
  if (victims.some((victim) => ['', '.', '..'].includes(victim)))
    throw new KindlingError('KND_ARCHIVE_INVALID', `the layer has a whiteout without a name, "${name}"`);
  for (const victim of victims) await removeLower(path.join(parent, victim), placed);
}

/** Removes what lower layers put there; what this layer has placed, before its mark or after it, stays. */
async function removeLower(at: string, placed: ReadonlySet<string>): Promise<void> {
  if (![...placed].some((own) => own === at || own.startsWith(`${at}/`))) {
    await rm(at, { recursive: true, force: true });
    return;
  }
  const isDirectory = (await lstat(at)).isDirectory();
  for (const name of isDirectory ? await readdir(at) : []) await removeLower(path.join(at, name), placed);
}

async function placeEntry(
  header: Header,
  content: AsyncIterable<Buffer>,
  wanted: string,
  root: string,
  { run, signal, hasWhiteouts = false }: UnpackOptions,
): Promise<string> {
  const mode = header.mode ?? 0o644;
  const target = header.type === 'directory' ? await directoryAt(wanted, root, hasWhiteouts) : wanted;
  if (header.type !== 'directory' && path.relative(root, target) === '')
    throw new KindlingError(
      'KND_ARCHIVE_INVALID',
      `the entry "${header.name}" would replace the whole target`,
    );
  const pax = (header.pax ?? {}) as Record<string, string>;
  if (Object.keys(pax).some((key) => key.startsWith('GNU.sparse.')))
    throw new KindlingError('KND_ARCHIVE_INVALID', `${header.name} is packed as a sparse file`);
  switch (header.type) {
    case 'directory':
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
      await link(await linkedTo(root, header.linkname ?? ''), target);
      return target; // owner and mode are the other name's
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
      // Left out it would be missing from a target that is called complete.
      throw new KindlingError('KND_ARCHIVE_INVALID', `${header.name} is of a kind that is not known here`);
  }
  // Numbers too large for a header stand in the extended one.
  await lchown(target, Number(pax['uid'] ?? header.uid ?? 0), Number(pax['gid'] ?? header.gid ?? 0));
  if (header.type !== 'symlink') await chmod(target, mode); // after the owner, which clears setuid
  for (const [key, value] of Object.entries(pax)) {
    if (key.startsWith('SCHILY.xattr.'))
      setExtendedAttribute(target, key.slice('SCHILY.xattr.'.length), value);
  }
  if (header.type !== 'directory')
    await lutimes(target, header.mtime ?? new Date(0), header.mtime ?? new Date(0));
  return target;
}

/**
 * A directory where one is wanted. A link in its place is replaced by a layer; an archive that is unpacked over a system (/lib → usr/lib) follows
 * it, inside root: the directory's mode must never reach what the link means to the Micro-OS.
 */
async function directoryAt(wanted: string, root: string, replacesLinks: boolean): Promise<string> {
  const isLink = await lstat(wanted).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
  if (isLink && replacesLinks) await rm(wanted);
  const target = isLink && !replacesLinks ? await pathInRoot(root, path.relative(root, wanted)) : wanted;
  const existing = await lstat(target).catch(() => undefined);
  if (existing && !existing.isDirectory()) await rm(target);
  await mkdir(target, { recursive: true });
  return target;
}

/** The other name of a hard link: a link that is meant itself is not followed. */
async function linkedTo(root: string, linkname: string): Promise<string> {
  const { parent, name } = await placeOf(root, linkname);
  return path.join(parent, name);
}
