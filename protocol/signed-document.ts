import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { decodePublicKey, encodePublicKey } from './public-key.ts';

/**
 * A JSON value and Ed25519 signatures over it in one text:
 *
 *   {"payload": "<the value as JSON, base64>", "signatures": [{"key": "<public key>", "signature": "<base64>"}]}
 *
 * What is signed is the domain, a line break and the payload's bytes: a signature made for one purpose is never good for
 * another, and nobody has to agree on how JSON is written.
 */
interface Envelope {
  payload: string;
  signatures: { key: string; signature: string }[];
}

export function sealDocument(domain: string, value: unknown, keys: readonly KeyObject[]): string {
  const payload = Buffer.from(JSON.stringify(value));
  const envelope: Envelope = {
    payload: payload.toString('base64'),
    signatures: keys.map((key) => ({
      key: encodePublicKey(createPublicKey(key)),
      signature: sign(null, signedBytes(domain, payload), key).toString('base64'),
    })),
  };
  return `${JSON.stringify(envelope)}\n`;
}

export type OpenedDocument =
  | { kind: 'genuine'; value: unknown }
  /** Signed, but by none of the trusted keys. */
  | { kind: 'foreign'; keys: string[] }
  /** Names a trusted key, but that key did not sign this. */
  | { kind: 'changed' }
  | { kind: 'unreadable' };

/** The value, only if one of the trusted keys signed it. */
export function openDocument(domain: string, text: string, trusted: readonly string[]): OpenedDocument {
  const envelope = parseEnvelope(text);
  if (!envelope) return { kind: 'unreadable' };
  const payload = Buffer.from(envelope.payload, 'base64');
  const ours = envelope.signatures.filter(({ key }) => trusted.includes(key));
  if (ours.length === 0) return { kind: 'foreign', keys: envelope.signatures.map(({ key }) => key) };
  const isGenuine = ours.some(({ key, signature }) => {
    const publicKey = decodePublicKey(key);
    return (
      publicKey && verify(null, signedBytes(domain, payload), publicKey, Buffer.from(signature, 'base64'))
    );
  });
  return isGenuine ? { kind: 'genuine', value: JSON.parse(payload.toString()) } : { kind: 'changed' };
}

function signedBytes(domain: string, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${domain}\n`), payload]);
}

function parseEnvelope(text: string): Envelope | undefined {
  try {
    const { payload, signatures } = JSON.parse(text) as Partial<Envelope>;
    const isWhole =
      typeof payload === 'string' &&
      Array.isArray(signatures) &&
      signatures.every((one) => typeof one?.key === 'string' && typeof one.signature === 'string');
    return isWhole ? { payload, signatures } : undefined;
  } catch {
    return undefined;
  }
}
