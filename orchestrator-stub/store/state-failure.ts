import { accessSync, constants, statfsSync } from 'node:fs';
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
    // SQLite says "I/O error" or "unable to open" of a full or read-only disk too, where it could not grow one of its own files.
    case SQLITE.READONLY:
    case SQLITE.IOERR:
    case SQLITE.CANTOPEN:
      return (
        lookAtFolder(folder, thrown) ??
        new KindlingError('KND_STATE_IO', 'the disk of the state folder fails', { cause: thrown })
      );
    case SQLITE.CORRUPT:
    case SQLITE.NOTADB:
      return new KindlingError('KND_STATE_DAMAGED', 'the database is damaged', { cause: thrown });
    default:
      return undefined;
  }
}

/** True of what is over when the state folder takes writes again: whoever asked is to wait and ask again. */
export function isStateFailure(thrown: unknown): thrown is KindlingError {
  return thrown instanceof KindlingError && thrown.code.startsWith('KND_STATE_');
}

/** What is wrong with the folder now, by looking at it. */
export function lookAtFolder(folder: string, cause?: unknown): KindlingError | undefined {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < LEAST_FREE_BYTES ? full(cause) : undefined;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    const isReadOnly = code === 'EROFS' || code === 'EACCES';
    return isReadOnly
      ? new KindlingError('KND_STATE_READ_ONLY', 'the state folder is read-only', { cause: cause ?? thrown })
      : new KindlingError('KND_STATE_IO', 'the state folder cannot be read', { cause: cause ?? thrown });
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
