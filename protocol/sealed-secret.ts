import {
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHash,
  type ECDH,
  hkdfSync,
  randomBytes,
} from 'node:crypto';

/**
 * A secret for the holder of a P-256 key, in the manner of ECIES: an ephemeral key, HKDF-SHA-256 over the shared secret, and
 * AES-256-GCM. Laid out as ephemeral public key (65 bytes, uncompressed), nonce (12), tag (16), ciphertext.
 */
const CURVE = 'prime256v1';
const POINT_SIZE = 65;
const NONCE_SIZE = 12;
const TAG_SIZE = 16;
const PURPOSE = 'kindling client secret';

/** A key pair that lives as long as the boot it was made in. */
export function makeNodeKey(privateKey?: Buffer): ECDH {
  const pair = createECDH(CURVE);
  if (privateKey) pair.setPrivateKey(privateKey);
  else pair.generateKeys();
  return pair;
}

/** Undefined if `publicKey` is no point of the curve. */
export function sealSecret(secret: string, publicKey: Uint8Array): Buffer | undefined {
  const ephemeral = makeNodeKey();
  const shared = sharedSecret(ephemeral, publicKey);
  if (!shared) return undefined;
  const nonce = randomBytes(NONCE_SIZE);
  const ephemeralPublic = ephemeral.getPublicKey();
  const cipher = createCipheriv('aes-256-gcm', deriveKey(shared, ephemeralPublic, publicKey), nonce);
  const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return Buffer.concat([ephemeralPublic, nonce, cipher.getAuthTag(), ciphertext]);
}

/** Undefined if it was sealed for another key, or changed. */
export function openSecret(sealed: Uint8Array, pair: ECDH): string | undefined {
  const bytes = Buffer.from(sealed);
  const ephemeralPublic = bytes.subarray(0, POINT_SIZE);
  const shared = sharedSecret(pair, ephemeralPublic);
  const nonceEnd = POINT_SIZE + NONCE_SIZE;
  if (!shared || bytes.length < nonceEnd + TAG_SIZE) return undefined;
  const key = deriveKey(shared, ephemeralPublic, pair.getPublicKey());
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(POINT_SIZE, nonceEnd));
  decipher.setAuthTag(bytes.subarray(nonceEnd, nonceEnd + TAG_SIZE));
  try {
    const text = [decipher.update(bytes.subarray(nonceEnd + TAG_SIZE)), decipher.final()];
    return Buffer.concat(text).toString('utf8');
  } catch {
    return undefined;
  }
}

/** What people compare on a screen and a server keeps: 16 hexadecimal digits, in groups. */
export function nodeKeyCode(publicKey: Uint8Array): string {
  const digits = createHash('sha256').update(publicKey).digest('hex').slice(0, 16).toUpperCase();
  return digits.match(/.{4}/g)?.join('-') ?? digits;
}

function sharedSecret(own: ECDH, other: Uint8Array): Buffer | undefined {
  if (other.length !== POINT_SIZE) return undefined;
  try {
    return own.computeSecret(other);
  } catch {
    return undefined; // not on the curve
  }
}

function deriveKey(shared: Buffer, ephemeralPublic: Uint8Array, publicKey: Uint8Array): Buffer {
  const salt = Buffer.concat([ephemeralPublic, publicKey]);
  return Buffer.from(hkdfSync('sha256', shared, salt, PURPOSE, 32));
}
