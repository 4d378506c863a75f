import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// Loaded before a program (`node --import`) and before each of its threads: writes down every write, zeroed range and sync of one disk,
// when it begins and when it has ended. A record is the length of its text, the text (JSON), and the bytes that are written.

const disk = process.env['RECORD_DISK'];
const record = fs.openSync(process.env['RECORD_TO'] ?? '/dev/null', 'a');
const { write, writeSync, fsyncSync, fdatasync, readlinkSync } = fs;
const { threadId } = process.getBuiltinModule('node:worker_threads');
let count = 0;

type Done = (error: Error | null, ...rest: unknown[]) => void;

const isDisk = (fd: number) => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`) === disk;
  } catch {
    return false;
  }
};

function put(fields: object, bytes: Uint8Array = Buffer.alloc(0)): void {
  const text = Buffer.from(JSON.stringify({ ...fields, bytes: bytes.length }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  // one write to a file that is appended to: records of several threads do not mix
  const all = Buffer.concat([length, text, bytes]);
  if (writeSync(record, all) !== all.length) throw new Error('a record was cut off');
}

/** Notes the beginning; answers what notes the end. */
function begin(fields: object, bytes?: Uint8Array): () => void {
  count += 1;
  const id = `${threadId}-${count}`;
  put({ event: 'begin', id, ...fields }, bytes);
  return () => put({ event: 'end', id });
}

fs.writeSync = ((fd: number, buffer: Buffer, offset: number, length: number, position: number) => {
  if (!isDisk(fd)) return (writeSync as (...all: unknown[]) => number)(fd, buffer, offset, length, position);
  const end = begin({ kind: 'write', position }, buffer.subarray(offset, offset + length));
  const written = writeSync(fd, buffer, offset, length, position);
  end();
  return written;
}) as typeof fs.writeSync;

fs.write = ((fd: number, buffer: Buffer, offset: number, length: number, position: number, done: Done) => {
  if (!isDisk(fd)) return (write as (...all: unknown[]) => void)(fd, buffer, offset, length, position, done);
  const end = begin({ kind: 'write', position }, buffer.subarray(offset, offset + length));
  write(fd, buffer, offset, length, position, (error, ...rest) => {
    end();
    done(error, ...rest);
  });
}) as typeof fs.write;

fs.fsyncSync = (fd) => {
  const end = isDisk(fd) ? begin({ kind: 'sync' }) : () => {};
  fsyncSync(fd);
  end();
};

fs.fdatasync = ((fd: number, done: Done) => {
  const end = isDisk(fd) ? begin({ kind: 'sync' }) : () => {};
  fdatasync(fd, (error) => {
    if (!error) end();
    done(error);
  });
}) as typeof fs.fdatasync;

const ffi = process.getBuiltinModule('node:ffi') as unknown as {
  dlopen: (...all: unknown[]) => { functions: Record<string, (...all: never[]) => unknown> };
};
const { dlopen } = ffi;
ffi.dlopen = (...all) => {
  const library = dlopen(...all);
  const { fallocate } = library.functions;
  if (!fallocate) return library;
  const recorded = (fd: number, mode: number, position: bigint, length: bigint) => {
    if (!isDisk(fd)) return (fallocate as (...args: unknown[]) => unknown)(fd, mode, position, length);
    const end = begin({ kind: 'zeros', position: Number(position), length: Number(length) });
    const result = (fallocate as (...args: unknown[]) => unknown)(fd, mode, position, length);
    end();
    return result;
  };
  return { ...library, functions: { ...library.functions, fallocate: recorded } };
};

syncBuiltinESMExports();
