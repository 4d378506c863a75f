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

const MARKS = [
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
] as const;

/** Text as spreadsheets write it: UTF-8, or UTF-16 with the mark that says so. */
export function decodeText(bytes: Buffer): string {
  const marked = MARKS.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte));
  try {
    return new TextDecoder(marked?.encoding ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new KindlingError('KND_API_INVALID', 'the body is neither UTF-8 nor UTF-16 with its mark', {
      hint: 'Save the file as UTF-8.',
      cause,
    });
  }
}

function tooLarge(limit: number): KindlingError {
  return new KindlingError('KND_API_TOO_LARGE', `the body is larger than ${limit} bytes`);
}
