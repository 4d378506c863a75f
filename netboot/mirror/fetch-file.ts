import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { KindlingError } from '../../protocol/error.ts';

/** A server that says nothing for this long is as good as gone. */
const STALL_MS = 30_000;
const LARGEST_TEXT_BYTES = 4 * 1024 * 1024;

/** Where boot files come from, and whom to trust for TLS besides the public CAs. */
export interface Origin {
  /** The folder, without a slash at the end. */
  url: string;
  ca?: string | undefined;
}

export async function fetchText(origin: Origin, name: string, signal: AbortSignal): Promise<string> {
  const response = await request(origin, name, signal);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_TEXT_BYTES)
      throw new KindlingError('KND_MIRROR_REFUSED', `${origin.url}/${name} is too large`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Downloads a file that must have this size and hash; nothing larger is ever written. */
export async function fetchVerified(
  origin: Origin,
  name: string,
  expected: { size: number; sha256: string },
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const response = await request(origin, name, signal);
  const hash = createHash('sha256');
  let size = 0;
  async function* checked(): AsyncGenerator<Buffer> {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > expected.size) break;
      hash.update(chunk);
      yield chunk;
    }
  }
  try {
    await pipeline(checked(), createWriteStream(target), { signal });
  } catch (cause) {
    throw new KindlingError('KND_MIRROR_UNREACHABLE', `${origin.url}/${name} broke off`, { cause });
  }
  if (size !== expected.size || hash.digest('hex') !== expected.sha256)
    throw new KindlingError(
      'KND_MIRROR_REFUSED',
      `${origin.url}/${name} is not the file that the site signed`,
    );
}

async function request({ url, ca }: Origin, name: string, signal: AbortSignal): Promise<IncomingMessage> {
  const address = `${url}/${name.split('/').map(encodeURIComponent).join('/')}`;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = { signal, timeout: STALL_MS, agent: false };
  const sent = address.startsWith('https:')
    ? httpsGet(address, { ...options, ...(ca === undefined ? {} : { ca }) }, resolve)
    : httpGet(address, options, resolve);
  sent.on('error', reject).on('timeout', () => sent.destroy(new Error(`silent for ${STALL_MS / 1000} s`)));
  const response = await promise.catch((cause: unknown) => {
    throw new KindlingError('KND_MIRROR_UNREACHABLE', `${address} cannot be reached`, { cause });
  });
  if (response.statusCode === 200) return response;
  response.resume();
  throw new KindlingError('KND_MIRROR_UNREACHABLE', `${address} answered ${response.statusCode}`);
}
