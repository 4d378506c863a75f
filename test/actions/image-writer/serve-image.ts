import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { indexImage } from '../../../images/index-image.ts';
import type { ImageServer } from './image-server.ts';
import { encodeImage } from './test-image.ts';

export type ServedFormat = 'raw' | 'zst' | 'qcow2' | 'chunked';

/** Puts a disk image on the server as /image in this format; with `chunked` its manifest, of chunks of 1 MiB, stands beside it. */
export async function serveImage(
  server: ImageServer,
  folder: string,
  image: Buffer,
  format: ServedFormat,
): Promise<void> {
  if (format !== 'chunked') return void server.files.set('/image', { bytes: encodeImage(image, format) });
  const raw = join(folder, 'image.raw');
  writeFileSync(raw, image);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: 1024 * 1024, level: 1 });
  server.files.set('/image', { bytes: readFileSync(`${raw}.zst`) });
  server.files.set('/image.manifest', { bytes: Buffer.from(manifest) });
}
