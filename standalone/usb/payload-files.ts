import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { decodeManifest } from '../../formats/image-manifest.ts';
import { openResponse } from '../../net/http.ts';
import { redact } from '../../net/redact.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Config } from '../config/schema.ts';

export interface PayloadFile {
  name: string;
  source: string;
  size: number;
  sha256: string;
}

/** What goes to the payload partition. */
export interface PayloadFiles {
  image: PayloadFile;
  /** Of a chunked image: lies beside it under the name that the image writer looks for. */
  manifest?: { file: PayloadFile; root: string };
  artifacts: PayloadFile[];
}

/** The image, its manifest and the artifacts, with their hashes. Paths are relative to the config file. */
export async function collectPayload(
  image: NonNullable<Config['image']>,
  configFolder: string,
  workFolder: string,
): Promise<PayloadFiles> {
  const source =
    image.url === undefined ? resolve(configFolder, image.file ?? '') : await download(image.url, workFolder);
  if (image.url === undefined && image.file === undefined) {
    throw new KindlingError('KND_STICK_IMAGE', 'the config has neither image.file nor image.url');
  }
  const first = await payloadFile(`image/${basename(source)}`, source);
  if (image.sha256 !== undefined && image.sha256.toLowerCase() !== first.sha256) {
    throw new KindlingError(
      'KND_STICK_IMAGE',
      `${source} has SHA-256 ${first.sha256}, the config says ${image.sha256}`,
    );
  }
  const folder = image.artifacts === undefined ? undefined : resolve(configFolder, image.artifacts);
  const manifest = await manifestOf(first);
  return {
    image: first,
    ...(manifest === undefined ? {} : { manifest }),
    artifacts: folder === undefined ? [] : await artifactFiles(folder),
  };
}

/** The manifest that `kindling image index` put beside the image; one of another image would be found out only on the machine. */
async function manifestOf({ name, source, sha256 }: PayloadFile): Promise<PayloadFiles['manifest']> {
  const text = await readFile(`${source}.manifest`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { root, blobSha256 } = decodeManifest(text);
  if (blobSha256 !== sha256) {
    throw new KindlingError('KND_STICK_IMAGE', `${source}.manifest is that of another image`, {
      hint: 'Make it again with kindling image index, or remove it.',
    });
  }
  return { file: await payloadFile(`${name}.manifest`, `${source}.manifest`), root };
}

async function artifactFiles(folder: string): Promise<PayloadFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw new KindlingError('KND_STICK_IMAGE', `image.artifacts: ${folder} cannot be read`, { cause });
  });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files: PayloadFile[] = [];
  for (const path of paths.sort())
    files.push(await payloadFile(`artifacts/${path.slice(folder.length + 1)}`, path));
  return files;
}

async function payloadFile(name: string, source: string): Promise<PayloadFile> {
  const stats = await stat(source).catch(() => undefined);
  if (!stats?.isFile()) throw new KindlingError('KND_STICK_IMAGE', `there is no file ${source}`);
  const hash = createHash('sha256');
  await pipeline(createReadStream(source), hash);
  return { name, source, size: stats.size, sha256: hash.digest('hex') };
}

async function download(url: string, folder: string): Promise<string> {
  const target = join(folder, basename(new URL(url).pathname) || 'image');
  const response = await openResponse(siteNetwork(), url, {
    followsRedirects: true,
    code: 'KND_STICK_IMAGE',
  });
  if (response.status !== 200) {
    response.discard();
    throw new KindlingError('KND_STICK_IMAGE', `${redact(url)} answered ${response.status}`);
  }
  await pipeline(response.pieces(), createWriteStream(target));
  return target;
}
