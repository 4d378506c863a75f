import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { KindlingError } from '../protocol/error.ts';
import { homeFolder } from '../system/home-folder.ts';

const HOUR_MS = 3_600_000;
/** Of each kind this many entries always stay; older ones go once nobody has used them for a while. */
const KEEP_NEWEST = 8;
const KEEP_NEWEST_PACKAGES = 200;
const KEEP_USED_WITHIN_MS = 2 * HOUR_MS;
const OTHER_BUILDER_DEADLINE_MS = HOUR_MS / 2;

/** Where everything slow to make is kept: `${XDG_CACHE_HOME:-~/.cache}/kindling`. */
export function cacheRoot(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homeFolder(), '.cache'), 'kindling');
}

/**
 * The folder with what `build` makes of these inputs, built only if no earlier call had the same inputs.
 * `inputs` must name everything that decides the result (contents as hashes, versions, options).
 * Safe to call at the same time from several processes: one builds, the others wait; a half-built entry is never visible.
 */
export async function cached(
  kind: string,
  inputs: unknown,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const kindFolder = join(cacheRoot(), kind);
  const entry = join(kindFolder, hashOf(inputs));
  if (await touch(entry)) return entry;

  await mkdir(kindFolder, { recursive: true });
  const unlock = await lock(`${entry}.lock`, entry);
  try {
    if (await touch(entry)) return entry; // another process has just built it
    const unfinished = `${entry}.${randomUUID()}.unfinished`;
    await mkdir(unfinished);
    try {
      await build(unfinished);
      await rename(unfinished, entry).catch((thrown) => {
        if (!existsSync(entry)) throw thrown; // the same entry from a builder that did not see our lock: as good as ours
      });
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  } finally {
    await unlock();
  }
  await prune(kindFolder, entry, kind === 'debian' ? KEEP_NEWEST_PACKAGES : KEEP_NEWEST);
  return entry;
}

/** Whether `cached` would answer at once. */
export function isCached(kind: string, inputs: unknown): boolean {
  return existsSync(join(cacheRoot(), kind, hashOf(inputs)));
}

/** A short name for any JSON-like value; equal values have equal names. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24);
}

export async function hashOfFile(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

/** Marks the entry as used just now; false if there is none. */
async function touch(entry: string): Promise<boolean> {
  const now = new Date();
  return utimes(entry, now, now).then(
    () => true,
    () => false,
  );
}

/** Saves work, not correctness (that is the atomic rename): a second builder of the same entry waits for the first. */
async function lock(path: string, entry: string): Promise<() => Promise<void>> {
  const startedAt = performance.now();
  for (;;) {
    try {
      const file = await open(path, 'wx');
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(path, { force: true });
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    }
    const owner = Number(await readFile(path, 'utf8').catch(() => '0'));
    if (owner > 0 && !isAlive(owner)) await rm(path, { force: true });
    if (performance.now() - startedAt > OTHER_BUILDER_DEADLINE_MS)
      throw new KindlingError('KND_TIMEOUT', `process ${owner} has been building ${entry} for half an hour`, {
        hint: `If that process is stuck, end it; if it is something else, delete ${path}.`,
      });
    await delay(200);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function prune(kindFolder: string, keep: string, keepNewest: number): Promise<void> {
  const entries: { path: string; usedAt: number }[] = [];
  for (const name of await readdir(kindFolder)) {
    const path = join(kindFolder, name);
    const info = await stat(path).catch(() => undefined);
    if (info && path !== keep && !name.endsWith('.lock')) entries.push({ path, usedAt: info.mtimeMs });
  }
  entries.sort((a, b) => b.usedAt - a.usedAt);
  for (const { path, usedAt } of entries.slice(keepNewest))
    if (Date.now() - usedAt > KEEP_USED_WITHIN_MS) await rm(path, { recursive: true, force: true });
}
