import type { IncomingMessage } from 'node:http';
import { KindlingError } from '../../protocol/error.ts';

/** As gRPC's default for one message: nothing a node sends at once is larger. */
export const BODY_LIMIT_BYTES = 4 * 1024 * 1024;

/** Reads the whole body, or refuses it as soon as it is known to be too large. */
export async function readBody(request: IncomingMessage, limit = BODY_LIMIT_BYTES): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new KindlingError('KND_API_INVALID', 'the body is not JSON', { cause });
  }
}

function tooLarge(limit: number): KindlingError {
  return new KindlingError('KND_API_TOO_LARGE', `the body is larger than ${limit} bytes`);
}
