import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { openResponse } from '../../net/http.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type ActionContext, defineAction } from '../contract/action.ts';
import { namedDevice } from '../target-root/target-filesystem.ts';

const PIECE = 4 * 2 ** 20;
const SILENCE_MS = 120_000;

export const slurp = defineAction({
  name: 'slurp',
  aliases: [],
  summary: 'Uploads a disk or partition as an image',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    SOURCE_DISK: { type: 'absolute-path', required: true, description: 'The disk or partition' },
    DEST_URL: {
      type: 'url',
      required: true,
      description: 'Where it is posted, as multipart form field BootyImage',
    },
    IMG_NAME: {
      type: 'text',
      required: true,
      pattern: /^[\w.-]+$/,
      description: 'Name of the image; .img (and .gz) is added',
    },
    COMPRESSED: { type: 'boolean', default: false, description: 'Compress with gzip' },
  },
  notes: [
    'An upload that the server does not accept is a failure; the reference does not look at the answer.',
  ],
  async run({ SOURCE_DISK, DEST_URL, IMG_NAME, COMPRESSED }, context) {
    const { device } = await namedDevice(await context.machine.listDisks(), SOURCE_DISK);
    const name = `${IMG_NAME}.img${COMPRESSED ? '.gz' : ''}`;
    if (context.isDryRun) return { summary: `would upload ${SOURCE_DISK} as ${name}` };
    const { stdout } = await context.run('blockdev', ['--getsize64', device]);
    const size = Number(stdout);
    if (size === 0) throw new KindlingError('KND_DISK_NOT_FOUND', `${SOURCE_DISK} has no medium`);
    const bytes = await upload(
      { url: new URL(DEST_URL), name, device, size, isCompressed: COMPRESSED },
      context,
    );
    return { summary: `uploaded ${bytes} bytes of ${SOURCE_DISK} as ${name}`, data: { bytes } };
  },
});

interface Upload {
  url: URL;
  name: string;
  device: string;
  size: number;
  isCompressed: boolean;
  silenceMs?: number;
}

/** Posts a device; gives how much was read of it. A server that takes nothing for too long counts as gone. */
export async function upload(
  { url, name, device, size, isCompressed, silenceMs = SILENCE_MS }: Upload,
  context: Pick<ActionContext, 'signal' | 'emit'>,
): Promise<number> {
  const boundary = 'kindling-image-boundary';
  let bytes = 0;
  async function* image() {
    await using handle = await open(device, 'r');
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(PIECE), 0, PIECE, bytes);
      if (bytesRead === 0 && bytes < size) {
        // A disk that was pulled out reads as if it ended here; the upload must not look whole.
        throw new KindlingError('KND_DISK_IO', `${device} ended after ${bytes} of ${size} bytes`);
      }
      if (bytesRead === 0) return;
      bytes += bytesRead;
      context.emit({ type: 'progress', stage: 'uploading', figures: { bytesRead: bytes } });
      yield buffer.subarray(0, bytesRead);
    }
  }
  async function* body() {
    yield Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="BootyImage"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    );
    yield* isCompressed ? Readable.from(image()).compose(createGzip()) : image();
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  const response = await openResponse(siteNetwork(), url, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: body(),
    signal: context.signal,
    stallMs: silenceMs,
    code: 'KND_UPLOAD_FAILED',
  });
  const { status } = response;
  const said = await response.excerpt();
  if (status < 200 || status >= 300) {
    throw new KindlingError('KND_UPLOAD_FAILED', `${url.host} answered ${status} to the upload: ${said}`);
  }
  return bytes;
}
