import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { type HttpResponse, openResponse } from '../../net/http.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';

/** A server that says nothing for this long is as good as gone. The list is small, and asked for again soon: it tells early. */
const STALL_MS = { text: 10_000, file: 30_000 } as const;
const LARGEST_TEXT_BYTES = 4 * 1024 * 1024;

/** Where boot files come from, and whom to trust for TLS besides the public CAs. */
export interface Origin {
  /** The folder, without a slash at the end. */
  url: string;
  ca?: string | undefined;
}

export async function fetchText(origin: Origin, name: string, signal: AbortSignal): Promise<string> {
  const response = await request(origin, name, STALL_MS.text, signal);
  return response.text(LARGEST_TEXT_BYTES);
}

/** Downloads a file that must have this size and hash; nothing larger is ever written. */
export async function fetchVerified(
  origin: Origin,
  name: string,
  expected: { size: number; sha256: string },
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const response = await request(origin, name, STALL_MS.file, signal);
  const hash = createHash('sha256');
  let size = 0;
  async function* checked(): AsyncGenerator<Buffer> {
    for await (const chunk of response.pieces()) {
      size += chunk.length;
      if (size > expected.size) break;
      hash.update(chunk);
      yield chunk;
    }
  }
  await pipeline(checked(), createWriteStream(target), { signal });
  if (size !== expected.size || hash.digest('hex') !== expected.sha256)
    throw new KindlingError(
      'KND_MIRROR_REFUSED',
      `${origin.url}/${name} is not the file that the site signed`,
    );
}

async function request(
  { url, ca }: Origin,
  name: string,
  stallMs: number,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const address = `${url}/${name.split('/').map(encodeURIComponent).join('/')}`;
  const response = await openResponse(siteNetwork(ca), address, {
    signal,
    stallMs,
    code: 'KND_MIRROR_UNREACHABLE',
  });
  if (response.status === 200) return response;
  response.discard();
  throw new KindlingError('KND_MIRROR_UNREACHABLE', `${address} answered ${response.status}`);
}
