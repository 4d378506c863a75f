import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openResponse } from '../../net/http.ts';
import { redact } from '../../net/redact.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type ActionContext, defineAction } from '../contract/action.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import type { LedgerEntry } from '../resources/ledger.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';
import { decompressed } from '../unpack/decompress.ts';
import { unpackTar } from '../unpack/unpack-tar.ts';

const SILENCE_MS = 60_000;

export const archive2disk = defineAction({
  name: 'archive2disk',
  aliases: [],
  summary: 'Unpacks a tar archive from a URL into a file system of the target disk',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    ARCHIVE_URL: { type: 'url', required: true, description: 'Where the archive is; http or https' },
    ARCHIVE_TYPE: {
      type: 'text',
      pattern: /^(tar|targz)$/i,
      description: 'Accepted (tar or targz); the format is recognized by its first bytes, zstd too',
    },
    DEST_DISK: {
      type: 'absolute-path',
      description: 'The partition; without it the root partition of the target disk',
    },
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
    DEST_PATH: { type: 'absolute-path', default: '/', description: 'Folder in it to unpack into' },
    TARFILE_CHECKSUM: {
      type: 'text',
      pattern: /^(sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128})$/,
      description: 'sha256:… or sha512:… of the uncompressed archive; required unless the next is true',
    },
    INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION: {
      type: 'boolean',
      default: false,
      description: 'Unpack without a checksum',
    },
    HTTP_CLIENT_TIMEOUT_MINUTES: {
      type: 'integer',
      default: 5,
      min: 1,
      description: 'How long the download may take',
    },
    TLS_CA_CERT: { type: 'text', description: 'Base64 of PEM certificates that replace the system’s roots' },
  },
  notes: [
    'The archive is first stored on the target file system, checked there, and only then unpacked into place: a broken download changes nothing. Owners, modes, times, links, devices and extended attributes are kept, and no entry can leave the folder. The reference checks after unpacking and keeps none of these.',
  ],
  async run(variables, context) {
    const checksum = variables.TARFILE_CHECKSUM;
    if (checksum === undefined && !variables.INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION) {
      throw new KindlingError(
        'KND_ACTION_VARIABLES',
        'archive2disk: TARFILE_CHECKSUM is required (or INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION=true)',
      );
    }
    const target = await findTargetFilesystem(context, variables.DEST_DISK, variables.KINDLING_DISK);
    if (context.isDryRun)
      return {
        summary: `would unpack ${redact(variables.ARCHIVE_URL)} into ${variables.DEST_PATH} on ${target.device}`,
      };
    const mounted = await mountFilesystem(context, target.device, {
      fsType: variables.FS_TYPE ?? target.fsType,
    });
    const staged = path.join(mounted.target, '.kindling-archive');
    const held: LedgerEntry = { kind: 'folder', path: staged };
    await context.resources.take(
      held,
      () => rm(staged, { recursive: true, force: true }),
      () => rm(staged, { force: true }),
    );
    try {
      await downloadArchive(new URL(variables.ARCHIVE_URL), staged, context, {
        ca: variables.TLS_CA_CERT,
        timeoutMs: variables.HTTP_CLIENT_TIMEOUT_MINUTES * 60_000,
      });
      if (checksum !== undefined) await checkArchive(staged, checksum, context);
      const destination = await pathInRoot(mounted.target, variables.DEST_PATH);
      await mkdir(destination, { recursive: true });
      context.emit({ type: 'progress', stage: 'unpacking', percent: 60 });
      const { entries } = await unpackTar(await decompressed(createReadStream(staged)), destination, context);
      await context.resources.release(held);
      await mounted.unmount();
      return {
        summary: `unpacked ${entries} entries into ${variables.DEST_PATH} on ${target.device}`,
        data: { entries },
      };
    } finally {
      await context.resources.release(held);
    }
  },
});

export async function downloadArchive(
  url: URL,
  file: string,
  context: Pick<ActionContext, 'signal' | 'emit'>,
  { ca, timeoutMs }: { ca?: string | undefined; timeoutMs: number },
): Promise<void> {
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([context.signal, late]);
  try {
    const response = await openResponse(siteNetwork(ca), url, {
      signal,
      stallMs: SILENCE_MS,
      followsRedirects: true,
      code: 'KND_DOWNLOAD',
    });
    if (response.status !== 200) {
      response.discard();
      throw broken(`${redact(url.href)} answered ${response.status}`);
    }
    context.emit({ type: 'progress', stage: 'downloading the archive', percent: 0 });
    await pipeline(response.pieces(), createWriteStream(file), { signal });
  } catch (cause) {
    context.signal.throwIfAborted();
    if (!late.aborted) throw cause;
    throw broken(
      `the download of ${url.pathname} took longer than ${timeoutMs / 60_000} min (HTTP_CLIENT_TIMEOUT_MINUTES)`,
    );
  }
}

function broken(message: string): KindlingError {
  return new KindlingError('KND_DOWNLOAD', message);
}

async function checkArchive(file: string, checksum: string, context: ActionContext): Promise<void> {
  context.emit({ type: 'progress', stage: 'checking the archive', percent: 40 });
  const [algorithm = 'sha256', wanted = ''] = checksum.split(':');
  const hash = createHash(algorithm);
  const content: Readable = await decompressed(createReadStream(file));
  for await (const chunk of content) hash.update(chunk as Buffer);
  const found = hash.digest('hex');
  if (found !== wanted.toLowerCase()) {
    throw new KindlingError(
      'KND_ARCHIVE_INVALID',
      `the archive has the checksum ${algorithm}:${found}, not ${checksum}; nothing was unpacked`,
    );
  }
}
