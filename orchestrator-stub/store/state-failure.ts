import { statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';

/** Primary result codes of SQLite, https://sqlite.org/rescode.html; the extended ones have more in their upper bytes. */
const SQLITE = {
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  NOTADB: 26,
} as const;
/** With less than this a state folder counts as full: the next change but one would fail. */
const LEAST_FREE_BYTES = 1024 * 1024;
const PROBE_FILE = 'is-writable';

/** What SQLite threw, by its own name and with what to do next; undefined if the state folder is not to blame. */
export function toStateFailure(thrown: unknown, folder: string): KindlingError | undefined {
  if (thrown instanceof KindlingError) return isStateFailure(thrown) ? thrown : undefined;
  switch (primaryCode(thrown)) {
    case SQLITE.FULL:
      return full(thrown);
    case SQLITE.BUSY:
    case SQLITE.LOCKED:
      return new KindlingError('KND_STATE_LOCKED', 'another program has locked the database', {
        cause: thrown,
      });
    case SQLITE.READONLY:
    case SQLITE.IOERR:
    case SQLITE.CANTOPEN:
      return (
        tryFolder(folder, thrown) ??
        new KindlingError('KND_STATE_IO', 'the disk of the state folder fails', { cause: thrown })
      );
    // A disk that is gone gives zeros for what was there.
    case SQLITE.CORRUPT:
    case SQLITE.NOTADB:
      return (
        tryFolder(folder, thrown) ??
        new KindlingError('KND_STATE_DAMAGED', 'the database is damaged', { cause: thrown })
      );
    default:
      return undefined;
  }
}

/** True of what is over when the state folder takes writes again: the caller is to wait and ask again. */
export function isStateFailure(thrown: unknown): thrown is KindlingError {
  return thrown instanceof KindlingError && thrown.code.startsWith('KND_STATE_');
}

/** Says that there is hardly any room, before a change fails. */
export function lackOfRoom(folder: string): KindlingError | undefined {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < LEAST_FREE_BYTES ? full(undefined) : undefined;
}

/**
 * What is wrong with the folder, by making a file in it: SQLite says "I/O error" of a read-only disk too, and access(2) says
 * "writable" of a file system that the kernel has made read-only after an error (ext4 since Linux 6.12).
 */
function tryFolder(folder: string, cause: unknown): KindlingError | undefined {
  const path = join(folder, PROBE_FILE);
  try {
    writeFileSync(path, '');
    unlinkSync(path);
    return lackOfRoom(folder);
  } catch (thrown) {
    switch ((thrown as NodeJS.ErrnoException).code) {
      case 'ENOSPC':
      case 'EDQUOT':
        return full(cause);
      case 'EROFS':
      case 'EACCES':
        return new KindlingError('KND_STATE_READ_ONLY', 'the state folder is read-only', { cause });
      default:
        return new KindlingError('KND_STATE_IO', 'the disk of the state folder fails', { cause });
    }
  }
}

function full(cause: unknown): KindlingError {
  return new KindlingError('KND_STATE_FULL', 'there is no room left for the state folder', { cause });
}

function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number') {
    return undefined;
  }
  return thrown.errcode & 0xff;
}
