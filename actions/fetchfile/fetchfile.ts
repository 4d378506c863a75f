import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, lstat, rename, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { redact } from '../../net/redact.ts';
import { KindlingError } from '../../protocol/error.ts';
import { defineAction } from '../contract/action.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { findTargetFilesystem } from '../disks/target-filesystem.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { placeFile } from '../target-root/place-file.ts';

const SILENCE_MS = 60_000;

/** For what is too large, or not text enough, for writefile: programs, container images. */
export const fetchfile = defineAction({
  name: 'fetchfile',
  aliases: [],
  summary: 'Fetches a file of any size into a file system of the target disk, and checks its hash',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    URL: { type: 'url', required: true, description: 'Where the file is; http or https' },
    SHA256: {
      type: 'text',
      required: true,
      pattern: /^[0-9a-fA-F]{64}$/,
      description: 'Hash of the file; nothing is left in the target if it is another one',
    },
    DEST_PATH: {
      type: 'absolute-path',
      required: true,
      description: 'The file, as the installed system will see it',
    },
    DEST_DISK: {
      type: 'absolute-path',
      description: 'The partition; without it the root partition of the target disk',
    },
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
    MODE: { type: 'octal', default: 0o644, description: 'Mode of the file' },
  },
  async run(variables, context) {
    const target = await findTargetFilesystem(context, variables.DEST_DISK, variables.KINDLING_DISK);
    const name = variables.DEST_PATH;
    if (context.isDryRun)
      return { summary: `would fetch ${redact(variables.URL)} to ${name} on ${target.device}` };
    const fsType = variables.FS_TYPE ?? target.fsType;
    const mounted = await mountFilesystem(context, target.device, { fsType });
    const existing = await lstat(await pathInRoot(mounted.target, name)).catch(() => undefined);
    if (existing?.isDirectory())
      throw new KindlingError('KND_PATH_INVALID', `${name} is a directory in the target`);
    // An empty file first: it makes the directories.
    const temporaryName = path.join(path.dirname(name), `.${path.basename(name)}.kindling-new`);
    await placeFile(mounted.target, { path: temporaryName, contents: '', mode: 0o600 });
    const temporary = await pathInRoot(mounted.target, temporaryName);
    try {
      const bytes = await fetchTo(temporary, variables.URL, variables.SHA256.toLowerCase(), context);
      await chmod(temporary, variables.MODE);
      await rename(temporary, await pathInRoot(mounted.target, name));
      return { summary: `fetched ${name} (${bytes} bytes) to ${target.device}`, data: { path: name, bytes } };
    } finally {
      await rm(temporary, { force: true });
      await mounted.unmount();
    }
  },
});

/** Fetches a file and checks its hash; gives its length. A server that says nothing for too long counts as gone. */
export async function fetchTo(
  file: string,
  url: string,
  sha256: string,
  { signal, silenceMs = SILENCE_MS }: { signal: AbortSignal; silenceMs?: number },
): Promise<number> {
  const shown = redact(url);
  const response = await get(url, signal, silenceMs);
  if (response.statusCode !== 200) {
    response.destroy();
    throw new KindlingError('KND_FILE_FETCH', `${shown} answered ${response.statusCode}`);
  }
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(response, counted, createWriteStream(file, { flush: true }), { signal }).catch(
    (cause: unknown) => {
      throw new KindlingError('KND_FILE_FETCH', `${shown} broke off after ${bytes} bytes`, { cause });
    },
  );
  const actual = hash.digest('hex');
  if (actual === sha256) return bytes;
  throw new KindlingError('KND_FILE_HASH', `${shown} has SHA-256 ${actual}, expected ${sha256}`);
}

/** node:http, not fetch: the agent's Node is built without what fetch needs. */
function get(url: string, signal: AbortSignal, silenceMs: number): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  let answer: IncomingMessage | undefined;
  const asking = request(url, { signal, timeout: silenceMs }, (response) => {
    answer = response;
    resolve(response);
  });
  asking
    .on('timeout', () => {
      const silence = new Error(`nothing came for ${silenceMs / 1000} s`);
      answer?.destroy(silence); // by itself it would only say that it was aborted
      asking.destroy(silence);
    })
    .on('error', (cause) =>
      reject(new KindlingError('KND_FILE_FETCH', `${redact(url)} cannot be reached`, { cause })),
    )
    .end();
  return promise;
}
