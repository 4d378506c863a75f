import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { inflateRawSync, inflateSync } from 'node:zlib';
import { LINUX_CRASH_GUID } from '../../formats/efi/variables.ts';

/**
 * Under this name the kernel's efi_pstore keeps the end of its log when it panics (drivers/firmware/efi/efi-pstore.c).
 * dump-type0-11-1-1763274000-D: type, part, count, time, and C or D for compressed or not.
 */
const NAME = new RegExp(`^dump-type(\\d+)-(\\d+)-(\\d+)-(\\d+)-([CD])-${LINUX_CRASH_GUID}$`);
const ATTRIBUTE_BYTES = 4;

/** What the last kernel said as it died: the firmware keeps it over a reset. Empty when it did not die, or could not. */
export async function readCrashDump(directory: string): Promise<{ text: string; files: string[] }> {
  const names = await readdir(directory).catch(() => []);
  const parts = names
    .map((name) => NAME.exec(name))
    .filter((match) => match !== null)
    .map(([name, , part, , time, flag]) => ({
      name,
      part: Number(part),
      time: Number(time),
      isCompressed: flag === 'C',
    }));
  const newest = Math.max(...parts.map(({ time }) => time));
  // Part 1 holds the end of the log, so the highest part comes first.
  const ordered = parts.filter(({ time }) => time === newest).toSorted((a, b) => b.part - a.part);
  const texts: string[] = [];
  for (const { name, isCompressed } of ordered) {
    const content = (await readFile(path.join(directory, name))).subarray(ATTRIBUTE_BYTES);
    texts.push(isCompressed ? inflate(content) : content.toString('utf8'));
  }
  return { text: texts.join('\n'), files: parts.map(({ name }) => path.join(directory, name)) };
}

/** Gives the firmware its memory back: it is small, and boot entries live in it too. */
export async function removeCrashDump(files: readonly string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true });
}

/** The kernel compresses with deflate, without zlib's header since 4.x; another method is not worth failing for. */
function inflate(content: Buffer): string {
  for (const attempt of [inflateRawSync, inflateSync]) {
    try {
      return attempt(content).toString('utf8');
    } catch {
      // the other one
    }
  }
  return '';
}
