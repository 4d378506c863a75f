import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { FieldReader, sized, u16, u32 } from './fields.ts';
import { ALGORITHM, CURVE, hashName } from './numbers.ts';

/** Part 2, 11.1.7 TPMT_SYM_DEF_OBJECT: how a storage key encrypts what it holds. */
export interface Symmetric {
  algorithm: number;
  bits: number;
  mode: number;
}

/** Part 2, 11.2.3.5 and 11.2.3.6: how a key signs, and over which hash. */
export interface Scheme {
  algorithm: number;
  hash: number;
}

export interface RsaKey {
  kind: 'rsa';
  symmetric: Symmetric | undefined;
  scheme: Scheme | undefined;
  bits: number;
  /** 0 stands for 65537. */
  exponent: number;
  modulus: Buffer;
}

export interface EccKey {
  kind: 'ecc';
  symmetric: Symmetric | undefined;
  scheme: Scheme | undefined;
  curve: number;
  x: Buffer;
  y: Buffer;
}

/** Part 2, 12.2.4 TPMT_PUBLIC: everything about a key but its private half. */
export interface PublicArea {
  nameAlgorithm: number;
  /** Bits of TPMA_OBJECT. */
  attributes: number;
  authPolicy: Buffer;
  key: RsaKey | EccKey;
}

const SIGNING = [ALGORITHM.rsassa, ALGORITHM.rsapss, ALGORITHM.ecdsa] as number[];
const NO_SCHEME = u16(ALGORITHM.none);

export function encodePublicArea({ nameAlgorithm, attributes, authPolicy, key }: PublicArea): Buffer {
  const type = key.kind === 'rsa' ? ALGORITHM.rsa : ALGORITHM.ecc;
  return Buffer.concat([
    u16(type),
    u16(nameAlgorithm),
    u32(attributes),
    sized(authPolicy),
    encodeSymmetric(key.symmetric),
    key.scheme ? Buffer.concat([u16(key.scheme.algorithm), u16(key.scheme.hash)]) : NO_SCHEME,
    ...(key.kind === 'rsa'
      ? [u16(key.bits), u32(key.exponent), sized(key.modulus)]
      : [u16(key.curve), NO_SCHEME, sized(key.x), sized(key.y)]),
  ]);
}

/** Takes the kinds of keys that endorsement and attestation keys are; throws KND_TPM_MALFORMED for any other. */
export function decodePublicArea(bytes: Uint8Array): PublicArea {
  const fields = new FieldReader(bytes, 'TPMT_PUBLIC');
  const type = fields.u16();
  const nameAlgorithm = fields.u16();
  const attributes = fields.u32();
  const authPolicy = fields.sized();
  if (type !== ALGORITHM.rsa && type !== ALGORITHM.ecc) throw fields.fault('is of no known kind of key');
  const symmetric = decodeSymmetric(fields);
  const scheme = decodeScheme(fields);
  const key = type === ALGORITHM.rsa ? rsaKey() : eccKey();
  fields.end();
  return { nameAlgorithm, attributes, authPolicy, key };

  function rsaKey(): RsaKey {
    const bits = fields.u16();
    const exponent = fields.u32();
    return { kind: 'rsa', symmetric, scheme, bits, exponent, modulus: fields.sized() };
  }

  function eccKey(): EccKey {
    const curve = fields.u16();
    if (fields.u16() !== ALGORITHM.none) throw fields.fault('has a key derivation, which no such key has');
    return { kind: 'ecc', symmetric, scheme, curve, x: fields.sized(), y: fields.sized() };
  }
}

/** Part 1, 16: the name of an object is a hash of its public area, behind the number of that hash. */
export function nameOf(area: PublicArea): Buffer {
  const hash = hashName(area.nameAlgorithm) ?? 'sha256';
  const digest = createHash(hash).update(encodePublicArea(area)).digest();
  return Buffer.concat([u16(area.nameAlgorithm), digest]);
}

/** The key for node:crypto; undefined if it is no key at all (a point that is not on its curve, a modulus of another size). */
export function publicKeyOf({ key }: PublicArea): KeyObject | undefined {
  try {
    return createPublicKey({ format: 'jwk', key: key.kind === 'rsa' ? rsaJwk(key) : eccJwk(key) });
  } catch {
    return undefined;
  }
}

/** SHA-256 of the SubjectPublicKeyInfo, 64 hexadecimal digits: what Teleport calls EKPubHash. */
export function publicKeyHash(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

function rsaJwk({ bits, exponent, modulus }: RsaKey) {
  if (modulus.length * 8 !== bits) throw new RangeError('modulus');
  const e = u32(exponent || 65537).subarray(exponent === 0 || exponent === 65537 ? 1 : 0);
  return { kty: 'RSA', n: modulus.toString('base64url'), e: e.toString('base64url') };
}

function eccJwk({ curve, x, y }: EccKey) {
  const known = { [CURVE.p256]: ['P-256', 32], [CURVE.p384]: ['P-384', 48] } as const;
  const [crv, size] = known[curve as keyof typeof known] ?? ['', 0];
  return {
    kty: 'EC',
    crv,
    x: padStart(x, size).toString('base64url'),
    y: padStart(y, size).toString('base64url'),
  };
}

/** A TPM may leave out zeros at the front of a number. */
export function padStart(number: Uint8Array, size: number): Buffer {
  return Buffer.concat([Buffer.alloc(Math.max(0, size - number.length)), number]);
}

function encodeSymmetric(symmetric: Symmetric | undefined): Buffer {
  if (!symmetric) return NO_SCHEME;
  return Buffer.concat([u16(symmetric.algorithm), u16(symmetric.bits), u16(symmetric.mode)]);
}

function decodeSymmetric(fields: FieldReader): Symmetric | undefined {
  const algorithm = fields.u16();
  return algorithm === ALGORITHM.none ? undefined : { algorithm, bits: fields.u16(), mode: fields.u16() };
}

function decodeScheme(fields: FieldReader): Scheme | undefined {
  const algorithm = fields.u16();
  if (algorithm === ALGORITHM.none) return undefined;
  if (!SIGNING.includes(algorithm)) throw fields.fault('has a scheme that is not for signing');
  return { algorithm, hash: fields.u16() };
}
