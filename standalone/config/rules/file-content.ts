import { gunzipSync } from 'node:zlib';

export const MAX_FILE_BYTES = 1024 * 1024;

/** The bytes a file entry stands for, or why it stands for none. */
export function decodeContent(
  content: string,
  encoding: string | undefined,
): { bytes: Buffer; fault?: undefined } | { bytes?: undefined; fault: string } {
  if (encoding === undefined) return { bytes: Buffer.from(content) };
  if (encoding === 'gzip') return { fault: 'plain gzip cannot stand in YAML text; use gzip+base64' };
  const text = content.replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) {
    return { fault: 'the content is not base64' };
  }
  const bytes = Buffer.from(text, 'base64');
  if (encoding === 'base64') return { bytes };
  try {
    return { bytes: gunzipSync(bytes, { maxOutputLength: MAX_FILE_BYTES + 1 }) };
  } catch (thrown) {
    const tooLarge = (thrown as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE';
    return {
      fault: tooLarge ? 'the unpacked content is larger than 1 MiB' : 'the content is not gzip+base64',
    };
  }
}
