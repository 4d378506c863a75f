import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { manifestPathOf } from '../../images/chunked-file.ts';
import { indexImage } from '../../images/index-image.ts';
import { cached, hashOfFile } from '../../initrd/build-cache.ts';
import type { SigningKey } from '../../initrd/micro-os/sign-efi.ts';
import { step } from '../../system/step.ts';
import { ensureDebianRoot } from './debian-root.ts';
import { ensureVendorKey } from './vendor.ts';

/** A disk image that a workflow can download. */
export interface TargetImage {
  /** The raw disk image. */
  raw: string;
  /** The same, compressed: what a workflow downloads. */
  zst: string;
  /** Chunks and hashes of the compressed file, to be published beside it. */
  manifest: string;
  /** SHA-256 of the compressed file, as workflows state it. */
  sha256: string;
}

/** What every target image starts from. */
export interface TargetParts {
  rootTar: string;
  vendor: SigningKey;
}

interface TargetRecipe {
  /** The files of this folder that decide how it looks. */
  sources: readonly string[];
  /** For people: which of the systems it is. */
  title: string;
  build: (target: string, parts: TargetParts, say: (progress: string) => void) => Promise<void>;
}

/** The image, from the cache or built. */
export async function ensureTargetImage(
  kind: string,
  { sources, title, build }: TargetRecipe,
): Promise<TargetImage> {
  const [rootTar, vendor] = [await ensureDebianRoot(), await ensureVendorKey()];
  const signer = await hashOfFile(vendor.certificate);
  const hashes = await Promise.all(sources.map((name) => hashOfFile(join(import.meta.dirname, name))));
  const folder = await cached(`target-${kind}`, { rootTar, signer, sources: hashes }, (target) =>
    step(`target image “${title}”`, (say) => build(target, { rootTar, vendor }, say)),
  );
  return targetImageIn(folder);
}

const RAW = 'disk.raw';
const CHUNK_BYTES = 4 * 2 ** 20;

/** Makes the compressed file and its manifest from `disk.raw` in this folder. */
export async function publishable(folder: string, onProgress: (percent: number) => void): Promise<void> {
  const raw = join(folder, RAW);
  const blob = `${raw}.zst`;
  const { manifest } = await indexImage(raw, blob, {
    chunkSize: CHUNK_BYTES,
    level: 1, // made far more often than it is sent anywhere; unpacking takes the same time
    omitUnused: false,
    onProgress: (done, total) => onProgress(Math.floor((done / total) * 100)),
  });
  await writeFile(manifestPathOf(blob), manifest);
  const hash = createHash('sha256');
  await pipeline(createReadStream(blob), hash);
  await writeFile(join(folder, 'sha256'), hash.digest('hex'));
}

export async function targetImageIn(folder: string): Promise<TargetImage> {
  const raw = join(folder, RAW);
  return {
    raw,
    zst: `${raw}.zst`,
    manifest: manifestPathOf(`${raw}.zst`),
    sha256: (await readFile(join(folder, 'sha256'), 'utf8')).trim(),
  };
}
