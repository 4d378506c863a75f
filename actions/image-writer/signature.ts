import { redact } from '../../net/redact.ts';
import { KindlingError } from '../../protocol/error.ts';
import { imageSignatureText } from '../../protocol/image-signature.ts';
import { nodeCrypto } from '../../system/crypto.ts';
import { getFromAny } from './http/get-from-any.ts';
import type { WriteImageContext, WriteImageRequest } from './interface.ts';

const MAX_SIGNATURE = 4096;

/**
 * Fetches the detached Ed25519 signature of a plain image: before anything is written, because a missing one is reason enough not to
 * begin. It is of the file's hash, so it can be checked only when all of the file has come.
 */
export async function fetchSignature(
  request: WriteImageRequest,
  context: WriteImageContext,
): Promise<Buffer> {
  const { signatureUrl } = request.expected ?? {};
  const urls = signatureUrl ? [signatureUrl] : request.sources.map((source) => besides(source, '.sig'));
  const text = await getFromAny(urls, {
    transport: request.transport ?? {},
    retry: request.retry ?? {},
    maxLength: MAX_SIGNATURE,
    isNeeded: true,
    log: (level, message) => context.log?.(level, message),
    ...(context.signal ? { signal: context.signal } : {}),
  });
  const [url = ''] = urls;
  if (!text) throw new KindlingError('KND_IMAGE_SIGNATURE', `the image has no signature (${redact(url)})`);
  return Buffer.from(text.toString('latin1').trim(), 'base64');
}

export function checkSignature(
  signers: readonly string[],
  source: string,
  hashes: readonly (string | undefined)[],
  signature: Buffer,
): void {
  const isSigned = (sha256: string | undefined) =>
    sha256 !== undefined && isSignedBy(signers, imageSignatureText(sha256), signature);
  if (hashes.some(isSigned)) return;
  throw new KindlingError('KND_IMAGE_SIGNATURE', `${redact(source)} is not signed by a trusted key`);
}

/** Whether one of the keys (PEM) made this signature. */
function isSignedBy(keys: readonly string[], text: string | Buffer, signature: Buffer): boolean {
  const data = Buffer.from(text);
  return keys.some((pem) => {
    try {
      return nodeCrypto().verify(null, data, nodeCrypto().createPublicKey(pem), signature);
    } catch {
      return false;
    }
  });
}

/** The address of a file that lies beside another, query strings kept. */
export function besides(source: string, suffix: string): string {
  const url = new URL(source);
  url.pathname += suffix;
  return url.href;
}
