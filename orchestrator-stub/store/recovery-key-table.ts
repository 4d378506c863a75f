import type { HostId } from '../../protocol/ids.ts';
import { placeOf, type Seal } from '../seal/seal.ts';
import type { Store } from './store.ts';

/** What opens an encrypted disk when its TPM does not. */
export interface RecoveryKey {
  keyId: string;
  /** Null: only the owner of the offline key can read it. */
  recoveryKey: string | null;
  /** The recovery key for the owner of the offline key (seal/offline-key.ts), where the site has one. */
  encryptedKey?: string | undefined;
  /** The disk it is for, as the node describes it. */
  disk: Record<string, unknown>;
  receivedAt: string;
}

/** Recovery keys of nodes. All are kept: a disk that was taken out before its node was written anew is opened with an older one. */
export class RecoveryKeyTable {
  readonly #store: Store;
  readonly #seal: Seal;

  constructor(store: Store, seal: Seal) {
    this.#store = store;
    this.#seal = seal;
  }

  /** The same key again changes nothing: a node that was interrupted sends it once more. No key ever replaces another. False: it was there. */
  async save(hostId: HostId, key: RecoveryKey): Promise<boolean> {
    const count = await this.#store.run(
      'INSERT INTO recovery_keys (host_id, key_id, document) VALUES (?, ?, ?) ON CONFLICT (host_id, key_id) DO NOTHING',
      hostId,
      key.keyId,
      this.#seal.seal(JSON.stringify(key), placeOf('recovery_keys', hostId, key.keyId)),
    );
    return count > 0;
  }

  /** The newest first. */
  async list(hostId: HostId): Promise<RecoveryKey[]> {
    const rows = await this.#store.all<{ key_id: string; document: string }>(
      'SELECT key_id, document FROM recovery_keys WHERE host_id = ?',
      hostId,
    );
    return rows
      .map(({ key_id, document }) => this.#seal.open(document, placeOf('recovery_keys', hostId, key_id)))
      .map((document) => JSON.parse(document) as RecoveryKey)
      .sort((a, b) => (a.receivedAt < b.receivedAt ? 1 : -1));
  }
}
