import {
  constants,
  createCipheriv,
  createECDH,
  createHash,
  createHmac,
  publicEncrypt,
  randomBytes,
} from 'node:crypto';
import { sized, u32 } from '../../formats/tpm/fields.ts';
import { type EccKey, type PublicArea, padStart, publicKeyOf } from '../../formats/tpm/public-area.ts';
import { KindlingError } from '../../protocol/error.ts';

/** Contents of TPM2B_ID_OBJECT and TPM2B_ENCRYPTED_SECRET. */
export interface Credential {
  idObject: Buffer;
  encryptedSeed: Buffer;
}

const EMPTY = Buffer.alloc(0);
const SEED_SIZE = 32;
const P256_SIZE = 32;
const POINT_PREFIX = 4;

/**
 * What TPM2_MakeCredential does (Part 1, 24): a secret that only the TPM with this endorsement key opens, and only while it holds the
 * key of this name. For endorsement keys of the two usual templates: SHA-256 and AES-128-CFB.
 */
export function makeCredential(ek: PublicArea, akName: Buffer, secret: Uint8Array): Credential {
  const { seed, encryptedSeed } = ek.key.kind === 'ecc' ? shareSeed(ek.key) : wrapSeed(ek);
  const cipher = createCipheriv('aes-128-cfb', kdfA(seed, 'STORAGE', akName, EMPTY, 128), Buffer.alloc(16));
  const encIdentity = Buffer.concat([cipher.update(sized(secret)), cipher.final()]);
  const integrityKey = kdfA(seed, 'INTEGRITY', EMPTY, EMPTY, 256);
  const hmac = createHmac('sha256', integrityKey).update(encIdentity).update(akName).digest();
  return { idObject: Buffer.concat([sized(hmac), encIdentity]), encryptedSeed };
}

/** Part 1, B.10.3: RSA-OAEP with the label "IDENTITY" and its final zero. */
function wrapSeed(ek: PublicArea): { seed: Buffer; encryptedSeed: Buffer } {
  const key = publicKeyOf(ek);
  if (!key) throw notAKey();
  const seed = randomBytes(SEED_SIZE);
  const oaepLabel = Buffer.from('IDENTITY\0');
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  return { seed, encryptedSeed: publicEncrypt({ key, padding, oaepHash: 'sha256', oaepLabel }, seed) };
}

/** Part 1, C.6.4: an ephemeral point of P-256, and KDFe over what both share. */
function shareSeed({ x, y }: EccKey): { seed: Buffer; encryptedSeed: Buffer } {
  const [ekX, ekY] = [padStart(x, P256_SIZE), padStart(y, P256_SIZE)];
  const ephemeral = createECDH('prime256v1');
  const point = ephemeral.generateKeys();
  const [ownX, ownY] = [point.subarray(1, 1 + P256_SIZE), point.subarray(1 + P256_SIZE)];
  const shared = sharedPoint(() =>
    ephemeral.computeSecret(Buffer.concat([Buffer.of(POINT_PREFIX), ekX, ekY])),
  );
  return {
    seed: kdfE(shared, 'IDENTITY', ownX, ekX),
    encryptedSeed: Buffer.concat([sized(ownX), sized(ownY)]),
  };
}

function sharedPoint(compute: () => Buffer): Buffer {
  try {
    return compute();
  } catch {
    throw notAKey(); // not on the curve
  }
}

function notAKey(): KindlingError {
  return new KindlingError('KND_PROOF_KEY', 'the endorsement key is no key');
}

/** Part 1, 11.4.10.2 KDFa: SP 800-108 in counter mode with HMAC. At most one round of SHA-256 is needed here. */
function kdfA(key: Buffer, label: string, u: Buffer, v: Buffer, bits: number): Buffer {
  const hmac = createHmac('sha256', key).update(u32(1)).update(`${label}\0`).update(u).update(v);
  return hmac
    .update(u32(bits))
    .digest()
    .subarray(0, bits / 8);
}

/** Part 1, 11.4.10.3 KDFe: SP 800-56A, one round of SHA-256. */
function kdfE(shared: Buffer, label: string, u: Buffer, v: Buffer): Buffer {
  return createHash('sha256').update(u32(1)).update(shared).update(`${label}\0`).update(u).update(v).digest();
}
