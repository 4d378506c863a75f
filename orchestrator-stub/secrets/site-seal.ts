import { KindlingError } from '../../protocol/error.ts';
import { KeyFile, type KeyLocation } from '../seal/key-file.ts';
import { makeSealingKey, Seal, type SealingKeys } from '../seal/seal.ts';
import type { Store } from '../store/store.ts';
import { SEALED_TABLES, sealAnew } from './sealed-columns.ts';

export interface KeyRotation {
  keyId: string;
  /** False: the key file that was given begins with the same key as before. */
  isNew: boolean;
  /** How many values were sealed anew. */
  sealed: number;
}

/** The seal of a site's secrets, and the key file that it lives by. */
export class SiteSeal {
  readonly seal: Seal;
  readonly #store: Store;
  readonly #file: KeyFile;

  private constructor(store: Store, file: KeyFile, seal: Seal) {
    this.seal = seal;
    this.#store = store;
    this.#file = file;
  }

  /** 1 the key, made on the first start  2 the database is sealed with it  3 seal what is not  4 forget older keys. */
  static async open(store: Store, location: KeyLocation): Promise<SiteSeal> {
    const file = new KeyFile(location);
    const sealedWith = await readKeyId(store);
    if (file.isOurs && !file.exists && sealedWith === undefined) file.write([makeSealingKey()]);
    const keys = file.read();
    if (sealedWith !== undefined && !keys.some(({ id }) => id === sealedWith))
      throw new KindlingError(
        'KND_SEAL_KEY',
        `the secrets of the database are sealed with key ${sealedWith}, and ${file.path} has ${keys.map(({ id }) => id).join(', ')}`,
      );
    const opened = new SiteSeal(store, file, new Seal(keys, () => file.read()));
    if (sealedWith !== keys[0].id || keys.length > 1) {
      await sealAnew(store, opened.seal);
      // An older version wrote secrets as they are; what a file or a table no longer shows may still lie in it.
      if (sealedWith === undefined) await store.scrub(SEALED_TABLES);
      await store.transaction(async () => {
        await writeKeyId(store, keys[0].id);
        store.afterCommit(() => opened.#forgetOlderKeys());
      });
    }
    return opened;
  }

  /**
   * Seals everything with a new key, while others read and write: a new one of ours, or the first line of the file that was given.
   * In the caller's transaction. Both keys stay in the file until all is committed, so that no crash loses one that is needed.
   */
  async rotate(): Promise<KeyRotation> {
    const before = this.seal.keys[0].id;
    const inFile = this.#file.read();
    const keys: SealingKeys = this.#file.isOurs ? [makeSealingKey(), ...inFile] : inFile;
    if (this.#file.isOurs) this.#file.write(keys);
    this.seal.use(keys);
    const sealed = await sealAnew(this.#store, this.seal);
    await writeKeyId(this.#store, keys[0].id);
    this.#store.afterCommit(() => void this.#finish());
    return { keyId: keys[0].id, isNew: keys[0].id !== before, sealed };
  }

  /**
   * Whatever was sealed with the older key before the rotation and had to wait for it is written by now. Where this fails the older
   * key stays in the file, and the next start does it.
   */
  async #finish(): Promise<void> {
    await this.#store
      .transaction(async () => {
        await sealAnew(this.#store, this.seal);
        this.#store.afterCommit(() => this.#forgetOlderKeys());
      })
      .catch(() => {});
  }

  #forgetOlderKeys(): void {
    if (this.#file.isOurs) this.#file.write([this.seal.keys[0]]);
  }
}

async function readKeyId(store: Store): Promise<string | undefined> {
  return (await store.get<{ key_id: string }>('SELECT key_id FROM sealing'))?.key_id;
}

async function writeKeyId(store: Store, keyId: string): Promise<void> {
  await store.run(
    `INSERT INTO sealing (name, key_id) VALUES ('site', ?) ON CONFLICT (name) DO UPDATE SET key_id = excluded.key_id`,
    keyId,
  );
}
