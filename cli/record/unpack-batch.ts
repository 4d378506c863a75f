import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { KindlingError } from '../../protocol/error.ts';

export interface BatchFile {
  path: string;
  bytes: Buffer;
}

/** A thousand nodes with all of their logs have far less. */
const MOST_BYTES = 4 * 1024 * 1024 * 1024;

export function isGzip(bytes: Buffer): boolean {
  return bytes.subarray(0, 2).equals(Buffer.from([0x1f, 0x8b]));
}

/** The files of a batch, into memory: nothing of an archive that is not checked yet gets onto the disk. */
export async function unpackBatch(bytes: Buffer): Promise<BatchFile[]> {
  const files: BatchFile[] = [];
  try {
    const archive = extract();
    archive.end(await promisify(gunzip)(bytes, { maxOutputLength: MOST_BYTES }));
    for await (const entry of archive) files.push({ path: entry.header.name, bytes: await buffer(entry) });
  } catch (cause) {
    throw new KindlingError('KND_RECORD_INVALID', 'the batch is damaged: it cannot be unpacked', { cause });
  }
  return files;
}
