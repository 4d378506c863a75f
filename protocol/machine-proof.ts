import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** Everything both sides have seen of one proof, from the first question to the challenge. */
export interface ProofTranscript {
  uuid: string;
  serial: string;
  /** Public key of the boot: a machine that carries the messages of another cannot put its own in. */
  nodeKey: Uint8Array;
  nonce: Uint8Array;
  ekPublic: Uint8Array;
  akPublic: Uint8Array;
  idObject: Uint8Array;
  encryptedSeed: Uint8Array;
}

const PURPOSE = 'kindling machine proof 1';
const SECRET_PURPOSE = 'kindling client secret for a proven machine';
const NONCE_SIZE = 12;
const TAG_SIZE = 16;

/** Response header of a server that asks machines for a proof. */
export const PROOF_HEADER = 'kindling-attestation';

/** Each part behind its length, so that no two transcripts give the same bytes. */
export function hashTranscript(transcript: ProofTranscript): Buffer {
  const hash = createHash('sha256').update(PURPOSE);
  const { uuid, serial, nodeKey, nonce, ekPublic, akPublic, idObject, encryptedSeed } = transcript;
  for (const part of [uuid, serial, nodeKey, nonce, ekPublic, akPublic, idObject, encryptedSeed]) {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest();
}

/** What only a machine can say whose TPM has opened the challenge. */
export function answerChallenge(challengeSecret: Uint8Array, transcript: Buffer): Buffer {
  return createHmac('sha256', challengeSecret).update(transcript).digest();
}

export function isAnswer(answer: Uint8Array, challengeSecret: Uint8Array, transcript: Buffer): boolean {
  const expected = answerChallenge(challengeSecret, transcript);
  return answer.length === expected.length && timingSafeEqual(answer, expected);
}

/** The client secret for the machine that opened the challenge: nonce (12), tag (16), ciphertext of AES-256-GCM. */
export function sealForProof(clientSecret: string, challengeSecret: Uint8Array, transcript: Buffer): Buffer {
  const nonce = randomBytes(NONCE_SIZE);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(challengeSecret, transcript), nonce);
  const ciphertext = Buffer.concat([cipher.update(clientSecret, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** Undefined if it was sealed for another proof, or changed. */
export function openFromProof(
  sealed: Uint8Array,
  challengeSecret: Uint8Array,
  transcript: Buffer,
): string | undefined {
  const bytes = Buffer.from(sealed);
  if (bytes.length < NONCE_SIZE + TAG_SIZE) return undefined;
  const key = deriveKey(challengeSecret, transcript);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_SIZE));
  decipher.setAuthTag(bytes.subarray(NONCE_SIZE, NONCE_SIZE + TAG_SIZE));
  try {
    const text = [decipher.update(bytes.subarray(NONCE_SIZE + TAG_SIZE)), decipher.final()];
    return Buffer.concat(text).toString('utf8');
  } catch {
    return undefined;
  }
}

function deriveKey(challengeSecret: Uint8Array, transcript: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', challengeSecret, transcript, SECRET_PURPOSE, 32));
}
