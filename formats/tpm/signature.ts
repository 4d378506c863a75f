import { constants, type KeyObject, verify } from 'node:crypto';
import { FieldReader } from './fields.ts';
import { ALGORITHM, hashName } from './numbers.ts';
import { padStart } from './public-area.ts';

/** Part 2, 11.3.4 TPMT_SIGNATURE */
export type Signature =
  | { algorithm: 'rsassa' | 'rsapss'; hash: number; value: Buffer }
  | { algorithm: 'ecdsa'; hash: number; r: Buffer; s: Buffer };

export function decodeSignature(bytes: Uint8Array): Signature {
  const fields = new FieldReader(bytes, 'TPMT_SIGNATURE');
  const algorithm = fields.u16();
  const hash = fields.u16();
  const signature = body();
  fields.end();
  return signature;

  function body(): Signature {
    if (algorithm === ALGORITHM.rsassa) return { algorithm: 'rsassa', hash, value: fields.sized() };
    if (algorithm === ALGORITHM.rsapss) return { algorithm: 'rsapss', hash, value: fields.sized() };
    if (algorithm === ALGORITHM.ecdsa)
      return { algorithm: 'ecdsa', hash, r: fields.sized(), s: fields.sized() };
    throw fields.fault('is of no known kind');
  }
}

/** Whether `key` signed exactly these bytes. SHA-1 is never good enough. */
export function isSignedBy(key: KeyObject, signed: Uint8Array, signature: Signature): boolean {
  const hash = hashName(signature.hash);
  if (hash === undefined || hash === 'sha1') return false;
  if (signature.algorithm === 'ecdsa') {
    if (key.asymmetricKeyType !== 'ec') return false;
    const size = key.asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 48 : 32;
    const pair = Buffer.concat([padStart(signature.r, size), padStart(signature.s, size)]);
    return verify(hash, signed, { key, dsaEncoding: 'ieee-p1363' }, pair);
  }
  if (key.asymmetricKeyType !== 'rsa') return false;
  const padding =
    signature.algorithm === 'rsassa' ? constants.RSA_PKCS1_PADDING : constants.RSA_PKCS1_PSS_PADDING;
  return verify(hash, signed, { key, padding }, signature.value);
}
