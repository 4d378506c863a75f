import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { HostId } from '../../protocol/ids.ts';
import { placeOf, type Seal } from '../seal/seal.ts';
import { Channel } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import { PasswordHashing } from './password-hashing.ts';

/** A node's client as Keycloak would keep it. */
export interface NodeClient {
  clientId: string;
  hostId: HostId;
  secret: string;
}

/** What a client's name is made of. */
export interface ClientOwner {
  id: HostId;
  uuid: string | null;
}

/** How often others are told that a node’s token is in use: a third of the silence after which another machine may take its place. */
const TOLD_OF_USE_MS = 10_000;

/** A host has this client, or has none any more. */
interface ClientChange {
  hostId: HostId;
  clientId: string | null;
}

/** Secrets of nodes and passwords of people. */
export class Credentials {
  readonly #store: Store;
  readonly #seal: Seal;
  readonly #hashing = new PasswordHashing();
  /** Looked up with every call of every agent, so kept in memory too. */
  readonly #hostOfClient = new Map<string, HostId>();
  /** When each node's token was used last. */
  readonly #usedAt = new Map<HostId, number>();
  /** When other processes were told so. */
  readonly #toldOfUseAt = new Map<HostId, number>();
  readonly #channel: Channel<ClientChange>;
  readonly #uses: Channel<{ hostId: HostId; at: number }>;

  private constructor(store: Store, seal: Seal, clients: { client_id: string; host_id: HostId }[]) {
    this.#store = store;
    this.#seal = seal;
    this.#channel = new Channel(store, 'client', (change) => this.#follow(change));
    this.#uses = new Channel(store, 'token-used', ({ hostId, at }) => {
      this.#usedAt.set(hostId, Math.max(at, this.#usedAt.get(hostId) ?? at));
      this.#toldOfUseAt.set(hostId, at);
    });
    for (const row of clients) this.#hostOfClient.set(row.client_id, row.host_id);
  }

  static async open(store: Store, seal: Seal): Promise<Credentials> {
    return new Credentials(store, seal, await store.all('SELECT client_id, host_id FROM clients'));
  }

  /** The client of a host; made at the first time, the same secret afterwards, as EMF does. */
  async issue(host: ClientOwner, now: Date): Promise<NodeClient> {
    return this.#store.transaction(async () => {
      const clientId = `edgenode-${host.uuid ?? host.id}`;
      const existing = await this.client(clientId);
      if (existing && existing.hostId === host.id) return existing;
      const client = { clientId, hostId: host.id, secret: randomBytes(24).toString('base64url') };
      await this.#store.run(
        `INSERT INTO clients (client_id, host_id, secret, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (client_id) DO UPDATE
         SET host_id = excluded.host_id, secret = excluded.secret, created_at = excluded.created_at`,
        clientId,
        host.id,
        this.#seal.seal(client.secret, placeOf('clients', clientId)),
        now.toISOString(),
      );
      this.#channel.tell({ hostId: host.id, clientId });
      return client;
    });
  }

  async client(clientId: string): Promise<NodeClient | undefined> {
    const row = await this.#store.get<{ client_id: string; host_id: HostId; secret: string }>(
      'SELECT client_id, host_id, secret FROM clients WHERE client_id = ?',
      clientId,
    );
    const open = (sealed: string) => this.#seal.open(sealed, placeOf('clients', clientId));
    return row && { clientId: row.client_id, hostId: row.host_id, secret: open(row.secret) };
  }

  /** The host a client belongs to, while it is not revoked. */
  hostOf(clientId: string): HostId | undefined {
    return this.#hostOfClient.get(clientId);
  }

  /** A call came in with the node's token. */
  noteUse(hostId: HostId, at: Date): void {
    const time = at.getTime();
    this.#usedAt.set(hostId, time);
    const told = this.#toldOfUseAt.get(hostId);
    if (told !== undefined && time - told < TOLD_OF_USE_MS) return;
    this.#toldOfUseAt.set(hostId, time);
    this.#uses.tell({ hostId, at: time });
  }

  wasUsedSince(hostId: HostId, time: Date): boolean {
    return (this.#usedAt.get(hostId) ?? Number.NEGATIVE_INFINITY) >= time.getTime();
  }

  /** Whatever a node still holds stops working at once: tokens are checked against the clients that exist. */
  async revoke(hostId: HostId): Promise<void> {
    await this.#store.transaction(async () => {
      await this.#store.run('DELETE FROM clients WHERE host_id = ?', hostId);
      this.#channel.tell({ hostId, clientId: null });
    });
  }

  #follow({ hostId, clientId }: ClientChange): void {
    if (clientId !== null) {
      this.#hostOfClient.set(clientId, hostId);
      return;
    }
    this.#usedAt.delete(hostId);
    this.#toldOfUseAt.delete(hostId);
    for (const [known, owner] of this.#hostOfClient) if (owner === hostId) this.#hostOfClient.delete(known);
  }

  /** The one person who may sign in. True: somebody else did before, or with another password. */
  async setUser(name: string, password: string, projectId: string): Promise<boolean> {
    const known = await this.#store.get<{ password_hash: string; salt: string; project_id: string }>(
      'SELECT password_hash, salt, project_id FROM users WHERE name = ?',
      name,
    );
    const hash = (salt: string) => scryptSync(password, salt, 32).toString('hex');
    const others = await this.#store.run('DELETE FROM users WHERE name <> ?', name);
    if (known && known.project_id === projectId && isSameSecret(hash(known.salt), known.password_hash)) {
      return others > 0;
    }
    const salt = randomBytes(16).toString('hex');
    await this.#store.run(
      `INSERT INTO users (name, password_hash, salt, project_id) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE
       SET password_hash = excluded.password_hash, salt = excluded.salt, project_id = excluded.project_id`,
      name,
      hash(salt),
      salt,
      projectId,
    );
    return true;
  }

  /** The user's project if the password is right. Takes as long for a name that does not exist. */
  async checkPassword(name: string, password: string, address: string): Promise<string | undefined> {
    const row = await this.#store.get<{ password_hash: string; salt: string; project_id: string }>(
      'SELECT password_hash, salt, project_id FROM users WHERE name = ?',
      name,
    );
    const given = await this.#hashing.hash(password, row?.salt ?? 'nobody', address);
    const wanted = row ? Buffer.from(row.password_hash, 'hex') : Buffer.alloc(given.length);
    return timingSafeEqual(given, wanted) && row ? row.project_id : undefined;
  }
}

/** Compares secrets without telling by the time taken how much of it was right. */
export function isSameSecret(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
