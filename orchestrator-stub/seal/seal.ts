import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** NIST SP 800-38D, 8.2.2: a random nonce of 96 bits is good for 2^32 values under one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** A sealed value: this, the id of its key, a colon, and nonce, ciphertext and tag as base64url. */
const MARK = 'sealed:1:';

/** Where a sealed value stands: its table and its row. */
export function placeOf(table: string, ...row: readonly string[]): string {
  return JSON.stringify([table, ...row]);
}

/** A key that seals values of the database, told from others by the start of its hash. */
export interface SealingKey {
  id: string;
  /** As in the key file. */
  text: string;
  bytes: Buffer;
}

/** The first seals, the others still open. */
export type SealingKeys = readonly [SealingKey, ...SealingKey[]];

/** Keys as text: one of 64 hexadecimal digits per line. */
export function parseSealingKeys(text: string, where: string): SealingKeys {
  const [first, ...others] = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => parseKey(line, where));
  if (!first) throw new KindlingError('KND_SEAL_KEY', `the key file ${where} is empty`);
  return [first, ...others];
}

export function makeSealingKey(): SealingKey {
  return parseKey(randomBytes(KEY_BYTES).toString('hex'), 'of a new key');
}

/** Seals values of the database: a copy of it without the key file shows none of them. */
export class Seal {
  #keys: SealingKeys;
  readonly #readKeys: (() => SealingKeys) | undefined;

  /** `readKeys` is asked when a value has an unknown key: another orchestrator on the same database may have taken a new one. */
  constructor(keys: SealingKeys, readKeys?: () => SealingKeys) {
    this.#keys = keys;
    this.#readKeys = readKeys;
  }

  get keys(): SealingKeys {
    return this.#keys;
  }

  /** `place` goes into the tag: a value that was moved to another row does not open. */
  seal(text: string, place: string): string {
    const [{ id, bytes }] = this.#keys;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, bytes, nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${MARK}${id}:${sealed.toString('base64url')}`;
  }

  open(stored: string, place: string): string {
    if (!isSealed(stored)) throw new KindlingError('KND_SEAL_VALUE', `${place} is not sealed`);
    const [id = '', text = ''] = stored.slice(MARK.length).split(':');
    const { bytes } = this.#keyOf(id, place);
    const sealed = Buffer.from(text, 'base64url');
    try {
      const decipher = createDecipheriv(CIPHER, bytes, sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(place))
        .setAuthTag(sealed.subarray(-TAG_BYTES));
      const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([opened, decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new KindlingError('KND_SEAL_VALUE', `${place} is not as the orchestrator sealed it`, { cause });
    }
  }

  /** Whether a value is to be sealed anew: it is plain, or another key than the first sealed it. */
  isStale(stored: string): boolean {
    return !stored.startsWith(`${MARK}${this.#keys[0].id}:`);
  }

  /** From now on the first of these seals. What was known still opens: somebody may have read a value just before. */
  use(keys: SealingKeys): void {
    const others = this.#keys.filter(({ id }) => !keys.some((each) => each.id === id));
    this.#keys = [...keys, ...others];
  }

  #keyOf(id: string, place: string): SealingKey {
    const known = this.#keys.find((each) => each.id === id);
    if (known) return known;
    if (this.#readKeys) this.use(this.#readKeys());
    const read = this.#keys.find((each) => each.id === id);
    if (read) return read;
    throw new KindlingError(
      'KND_SEAL_KEY',
      `${place} is sealed with key ${id}, which the key file does not have`,
    );
  }
}

export function isSealed(stored: string): boolean {
  return stored.startsWith(MARK);
}

function parseKey(text: string, where: string): SealingKey {
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new KindlingError(
      'KND_SEAL_KEY',
      `the key file ${where} has a line that is not 64 hexadecimal digits`,
    );
  const bytes = Buffer.from(text, 'hex');
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 12), text, bytes };
}
