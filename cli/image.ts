import { createHash, sign } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import {
  type ImageManifest,
  isManifestSignedBy,
  MANIFEST_MAGIC,
  signManifest,
} from '../formats/image-manifest.ts';
import {
  diffManifests,
  extractImage,
  manifestPathOf,
  readManifest,
  verifyImage,
} from '../images/chunked-file.ts';
import { indexImage } from '../images/index-image.ts';
import type { Finding } from '../images/unused/find-unused.ts';
import { KindlingError } from '../protocol/error.ts';
import { imageSignatureText } from '../protocol/image-signature.ts';
import { step } from '../system/step.ts';
import { makeKeyFiles, readPrivateKey, readPublicKey } from './key-files.ts';

/** `kindling image`: make, check, compare, unpack and sign images for the image writer. */
export function defineImage(command: Command): void {
  command
    .command('index')
    .description('make <raw>.zst and <raw>.zst.manifest from a raw disk image')
    .argument('<raw>', 'the raw disk image')
    .option('-o, --output <file>', 'where the image goes (default: <raw>.zst)')
    .option('--chunk-size <MiB>', 'raw MiB per chunk, 1 to 16', '4')
    .option(
      '--level <number>',
      'zstd level, 1 to 19; from 13 on the smallest file counts, not the time to unpack it',
      '9',
    )
    .option('--keep-unused', 'keep every byte, also those that no file uses')
    .option('--image-version <number>', 'counts up with every image: nodes can be told to take none older')
    .option('--expires <date>', 'until when nodes take the image, as in 2027-06-30')
    .option('--key <pem>', 'sign the manifest with this Ed25519 private key')
    .action(index);
  command
    .command('verify')
    .description('compare every chunk of an image with its manifest')
    .argument('<image>', 'the .zst file; its manifest lies beside it')
    .option('--trust <pem...>', 'public keys; the manifest must be signed by one of them')
    .action(verifyCommand);
  command
    .command('diff')
    .description('what a node with the old image fetches to get the new one')
    .argument('<old>', 'manifest')
    .argument('<new>', 'manifest')
    .option('--json', 'print one JSON object')
    .action(diff);
  command
    .command('extract')
    .description('unpack an image into a raw file, every chunk verified')
    .argument('<image>', 'the .zst file; its manifest lies beside it')
    .argument('<raw>', 'the file to write')
    .option('--trust <pem...>', 'public keys; the manifest must be signed by one of them')
    .action(extract);
  command
    .command('sign')
    .description('sign a manifest, or a plain image (writes <file>.sig)')
    .argument('<file>', 'a manifest or an image')
    .requiredOption('--key <pem>', 'Ed25519 private key; with --new-key it is made')
    .option('--new-key', 'make a new key pair first: <pem> and <pem>.pub')
    .action(signCommand);
}

interface IndexCommandOptions {
  output?: string;
  chunkSize: string;
  level: string;
  keepUnused?: boolean;
  imageVersion?: string;
  expires?: string;
  key?: string;
}

async function index(raw: string, options: IndexCommandOptions): Promise<void> {
  const blob = options.output ?? `${raw}.zst`;
  // read before the long work: a wrong key is told at once
  const key = options.key ? await readPrivateKey(options.key) : undefined;
  const edition = {
    ...(options.imageVersion === undefined
      ? {}
      : { version: parseNumber(options.imageVersion, 'image version') }),
    ...(options.expires === undefined ? {} : { expires: parseEnd(options.expires, new Date()) }),
  };
  const result = await step(`indexing ${raw}`, (say) =>
    indexImage(raw, blob, {
      chunkSize: parseNumber(options.chunkSize, 'chunk size') * 1024 * 1024,
      level: parseNumber(options.level, 'level'),
      omitUnused: !options.keepUnused,
      edition,
      onProgress: (done, total) => say(`${Math.floor((done / total) * 100)} %`),
    }),
  );
  const manifest = key ? signManifest(result.manifest, key) : result.manifest;
  await writeFile(manifestPathOf(blob), manifest);
  for (const finding of result.findings) console.log(describe(finding));
  const { chunks, zeroChunks, size, blobSize } = result;
  console.log(
    `${blob}: ${megabytes(size)} in ${chunks} chunks (${zeroChunks} of zeros) → ${megabytes(blobSize)}`,
  );
  console.log(
    `${manifestPathOf(blob)}: ${options.key ? 'signed' : 'not signed'}; publish both files together`,
  );
}

function describe({ name, type, unusedBytes, kept }: Finding): string {
  const what = type ? `${name} (${type})` : name;
  return kept ? `${what}: kept whole: ${kept}` : `${what}: ${megabytes(unusedBytes)} unused, left out`;
}

async function verifyCommand(image: string, options: { trust?: string[] }): Promise<void> {
  const manifest = await readTrusted(image, options.trust);
  await step(`verifying ${image}`, (say) =>
    verifyImage(image, manifest, { onProgress: (done, total) => say(`${done} of ${total} chunks`) }),
  );
  const signers = manifest.signatures.map(({ keyId }) => keyId).join(', ');
  const unchecked = signers ? `signed by ${signers} (not checked: name a key with --trust)` : 'not signed';
  console.log(`root ${manifest.root}, ${options.trust ? 'signed by a trusted key' : unchecked}`);
}

/** The manifest beside an image; if keys are named, one of them must have signed it. */
async function readTrusted(image: string, trust: string[] | undefined): Promise<ImageManifest> {
  const path = manifestPathOf(image);
  const manifest = await readManifest(path);
  if (!trust) return manifest;
  const keys = await Promise.all(trust.map(readPublicKey));
  if (isManifestSignedBy(manifest, keys)) return manifest;
  throw new KindlingError('KND_IMAGE_SIGNATURE', `${path} is not signed by a trusted key`);
}

async function diff(oldPath: string, newPath: string, options: { json?: boolean }): Promise<void> {
  const difference = diffManifests(await readManifest(oldPath), await readManifest(newPath));
  const { changed, total, bytesToFetch } = difference;
  if (options.json) console.log(JSON.stringify(difference));
  else console.log(`${changed.length} of ${total} chunks differ; ${megabytes(bytesToFetch)} to fetch`);
}

async function extract(image: string, raw: string, options: { trust?: string[] }): Promise<void> {
  const manifest = await readTrusted(image, options.trust);
  await step(`extracting ${image}`, (say) =>
    extractImage(image, manifest, raw, { onProgress: (done, total) => say(`${done} of ${total} chunks`) }),
  );
}

async function signCommand(file: string, options: { key: string; newKey?: boolean }): Promise<void> {
  if (options.newKey) await makeKeyFiles(options.key);
  const key = await readPrivateKey(options.key);
  const head = await readStart(file, MANIFEST_MAGIC.length);
  if (head === MANIFEST_MAGIC) {
    await writeFile(file, signManifest(await readFile(file, 'utf8'), key));
    console.log(`${file}: signed`);
    return;
  }
  const text = imageSignatureText(await sha256Of(file));
  await writeFile(`${file}.sig`, `${sign(null, Buffer.from(text), key).toString('base64')}\n`);
  console.log(`${file}.sig: written`);
}

async function readStart(file: string, length: number): Promise<string> {
  for await (const bytes of createReadStream(file, { end: length - 1 }))
    return (bytes as Buffer).toString('latin1');
  return '';
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(file, { highWaterMark: 1024 * 1024 }))
    hash.update(bytes as Buffer);
  return hash.digest('hex');
}

function parseNumber(text: string, name: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value <= 0)
    throw new KindlingError('KND_USAGE', `${name} "${text}" is not a number`);
  return value;
}

/** A date is good until its last moment. */
function parseEnd(text: string, now: Date): string {
  const end = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59.999Z` : text);
  if (Number.isNaN(end.getTime()))
    throw new KindlingError('KND_USAGE', `--expires "${text}" is not a date, as in 2027-06-30`);
  if (end <= now) throw new KindlingError('KND_USAGE', `--expires ${text} is over already`);
  return end.toISOString();
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
