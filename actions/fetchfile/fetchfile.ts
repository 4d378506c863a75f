import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, lstat, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openResponse } from '../../net/http.ts';
import { redact } from '../../net/redact.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import { defineAction } from '../contract/action.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { placeFile } from '../target-root/place-file.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';

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
  const response = await openResponse(siteNetwork(), url, {
    signal,
    stallMs: silenceMs,
    followsRedirects: true,
    code: 'KND_FILE_FETCH',
  });
  if (response.status !== 200) {
    response.discard();
    throw new KindlingError('KND_FILE_FETCH', `${shown} answered ${response.status}`);
  }
  const hash = createHash('sha256');
  let bytes = 0;
  async function* counted() {
    for await (const piece of response.pieces()) {
      hash.update(piece);
      bytes += piece.length;
      yield piece;
    }
  }
  await pipeline(counted, createWriteStream(file, { flush: true }), { signal });
  const actual = hash.digest('hex');
  if (actual === sha256) return bytes;
  throw new KindlingError('KND_FILE_HASH', `${shown} has SHA-256 ${actual}, expected ${sha256}`);
}
