import { createPublicKey, verify } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import { imageSignatureText } from '../../protocol/image-signature.ts';
import { getSmall, redact } from './http/get.ts';
import type { WriteImageRequest } from './interface.ts';

const MAX_SIGNATURE = 4096;

/** Checks the detached Ed25519 signature of a plain image against the keys of the request. */
export async function checkSignature(
  request: WriteImageRequest,
  source: string,
  sha256: string,
): Promise<void> {
  const url = request.expected?.signatureUrl ?? besides(source, '.sig');
  const options = { transport: request.transport ?? {} };
  const text = await getSmall(url, options, MAX_SIGNATURE);
  if (!text)
    throw new KindlingError('KND_IMAGE_SIGNATURE', `${redact(source)} has no signature (${redact(url)})`);
  const signature = Buffer.from(text.toString('latin1').trim(), 'base64');
  if (!isSignedBy(request.expected?.signers ?? [], imageSignatureText(sha256), signature)) {
    throw new KindlingError('KND_IMAGE_SIGNATURE', `${redact(source)} is not signed by a trusted key`);
  }
}

/** Whether one of the keys (PEM) made this signature. */
function isSignedBy(keys: readonly string[], text: string | Buffer, signature: Buffer): boolean {
  const data = Buffer.from(text);
  return keys.some((pem) => {
    try {
      return verify(null, data, createPublicKey(pem), signature);
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
