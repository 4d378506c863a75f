import { createHash } from 'node:crypto';
import { link, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { openDocument } from '../../protocol/signed-document.ts';
import { BOOT_DOMAIN, BOOT_LIST_NAME, type BootList } from '../../protocol/site-files.ts';
import { fetchText, fetchVerified, type Origin } from './fetch-file.ts';

/**
 * A mirror's folder:
 *   current               link to the release that is served
 *   releases/<version>/   one consistent set of boot files; a version is the hash of its signed list
 *   site-keys.json        the site's public keys; a rotation is learned from a list that a known key signed, and what that
 *                         list no longer names is trusted no more
 *   highest-version.json  the highest version of a list that was ever taken: the mirror never goes back
 */
export interface MirrorFolder {
  folder: string;
  /** The key the mirror was set up with: it counts until the first list is taken. */
  key: string;
  /** For tests. */
  now?: () => Date;
}

export type UpdateResult = { kind: 'unchanged' | 'updated'; version: string; downloaded: number };

/** Of old releases this many stay: a machine may be in the middle of loading one. */
const KEPT_RELEASES = 2;

const HIGHEST_VERSION = 'highest-version.json';

export const currentFolder = (folder: string): string => join(folder, 'current');

/** 1 signed list  2 is it new?  3 every file: linked from the present release or downloaded, each verified  4 switch, in one step */
export async function updateMirror(
  { folder, key, now = () => new Date() }: MirrorFolder,
  origin: Origin,
  signal: AbortSignal,
): Promise<UpdateResult> {
  const text = await fetchText(origin, BOOT_LIST_NAME, signal);
  const list = openList(text, await trustedKeys(folder, key), origin);
  const highest = await highestVersion(folder);
  refuseOld(list, highest, now(), origin);
  const version = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const present = await presentVersion(folder);
  if (present === version) return { kind: 'unchanged', version, downloaded: 0 };

  const releases = join(folder, 'releases');
  const unfinished = join(releases, `${version}.unfinished`);
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  let downloaded = 0;
  try {
    for (const [name, expected] of Object.entries(list.files)) {
      const target = join(unfinished, safeName(name));
      await mkdir(dirname(target), { recursive: true });
      if (await linkIfSame(join(currentFolder(folder), name), expected.sha256, target)) continue;
      await fetchVerified(origin, name, expected, target, signal);
      downloaded += 1;
    }
    await writeFile(join(unfinished, BOOT_LIST_NAME), text);
    await rm(join(releases, version), { recursive: true, force: true });
    await rename(unfinished, join(releases, version));
  } catch (thrown) {
    await rm(unfinished, { recursive: true, force: true });
    throw thrown;
  }
  // First what is never taken back: after a power cut here the old release is served, and the new one fetched again.
  await replaceFile(join(folder, HIGHEST_VERSION), (path) =>
    writeFile(path, JSON.stringify(Math.max(highest, versionOf(list)))),
  );
  await replaceFile(join(folder, 'site-keys.json'), (path) => writeFile(path, JSON.stringify(list.keys)));
  await replaceFile(currentFolder(folder), (path) => symlink(join('releases', version), path));
  await prune(releases, [version, present]);
  return { kind: 'updated', version, downloaded };
}

function openList(text: string, trusted: readonly string[], origin: Origin): BootList {
  const opened = openDocument(BOOT_DOMAIN, text, trusted);
  if (opened.kind === 'genuine') return opened.value as BootList;
  const why = {
    foreign: 'is signed by another site',
    changed: 'was changed after it was signed',
    unreadable: 'is no signed list',
  }[opened.kind];
  throw new KindlingError('KND_MIRROR_REFUSED', `${origin.url}/${BOOT_LIST_NAME} ${why}`);
}

/** Genuine is not enough: an old list is as genuine as it was on its day. */
function refuseOld(list: BootList, highest: number, now: Date, origin: Origin): void {
  const what = `${origin.url}/${BOOT_LIST_NAME}`;
  const version = versionOf(list);
  if (version < highest)
    throw new KindlingError(
      'KND_MIRROR_REFUSED',
      `${what} is version ${version}, older than version ${highest}, which this mirror has had`,
    );
  if (list.expires && Date.parse(list.expires) <= now.getTime())
    throw new KindlingError(
      'KND_MIRROR_REFUSED',
      `${what} was good until ${list.expires}; a newer one is missing`,
    );
}

/** Lists of versions up to November 2026 have none. */
function versionOf(list: Partial<BootList>): number {
  return list.version ?? 0;
}

async function highestVersion(folder: string): Promise<number> {
  return Number(await readFile(join(folder, HIGHEST_VERSION), 'utf8').catch(() => '0'));
}

async function trustedKeys(folder: string, key: string): Promise<string[]> {
  const kept = await readFile(join(folder, 'site-keys.json'), 'utf8').catch(() => undefined);
  return kept === undefined ? [key] : (JSON.parse(kept) as string[]);
}

async function presentVersion(folder: string): Promise<string | undefined> {
  return readlink(currentFolder(folder)).then(basename, () => undefined);
}

/** Signed or not, a name must not lead out of the release. */
function safeName(name: string): string {
  if (name.split('/').some((part) => part === '' || part === '.' || part === '..' || /[\\\0]/.test(part)))
    throw new KindlingError('KND_MIRROR_REFUSED', `“${name}” is no name for a boot file`);
  return name;
}

/** Hashed again, not believed: what lies on the disk of a small box for years may rot. */
async function linkIfSame(existing: string, sha256: string, target: string): Promise<boolean> {
  const contents = await readFile(existing).catch(() => undefined);
  if (!contents || createHash('sha256').update(contents).digest('hex') !== sha256) return false;
  await link(existing, target);
  return true;
}

async function replaceFile(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  await rm(`${path}.new`, { force: true });
  await make(`${path}.new`);
  await rename(`${path}.new`, path);
}

async function prune(releases: string, keep: (string | undefined)[]): Promise<void> {
  const others = (await readdir(releases)).filter((name) => !keep.includes(name));
  for (const name of others.slice(0, Math.max(0, others.length + keep.length - KEPT_RELEASES)))
    await rm(join(releases, name), { recursive: true, force: true });
}
