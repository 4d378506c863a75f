import { createHash, randomBytes } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import type { Person, PersonView, Role, TokenView } from '../../protocol/people.ts';
import { Channel } from '../store/messages.ts';
import type { Store } from '../store/store.ts';

/** The owner of the state folder: the first admin, whom nobody can remove. */
export const OWNER = 'operator';
/** Told from a JWT by its first letters, and found by programs that look for secrets in files. */
const TOKEN = /^knd_[A-Za-z0-9_-]{43}$/;

interface PersonRow {
  name: string;
  role: Role;
  created_at: string;
  disabled_at: string | null;
}

interface TokenRow {
  id: string;
  person: string;
  created_at: string;
  expires_at: string;
}

/** Named people and their tokens. Of a token its hash is kept: 256 random bits need no salt and no slow hash. */
export class People {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #listeners = new Set<() => void>();
  readonly #channel: Channel<Record<string, never>>;

  constructor(store: Store, now: () => Date) {
    this.#store = store;
    this.#now = now;
    this.#channel = new Channel(store, 'people', () => {
      for (const listener of this.#listeners) listener();
    });
  }

  /** Told when somebody may no longer do what they could. Returns what ends it. */
  onLoss(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds a person, or gives one another role. */
  async save(name: string, role: Role): Promise<PersonView> {
    refuseOwner(name);
    return this.#store.transaction(async () => {
      await this.#store.run(
        `INSERT INTO people (name, role, created_at) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET role = excluded.role`,
        name,
        role,
        this.#now().toISOString(),
      );
      this.#tellOfLoss();
      return this.get(name);
    });
  }

  async list(): Promise<PersonView[]> {
    const rows = await this.#store.all<PersonRow>('SELECT * FROM people ORDER BY name');
    const tokens = await this.tokens();
    return rows.map((row) => viewOf(row, tokens));
  }

  async get(name: string): Promise<PersonView> {
    const view = await this.find(name);
    if (!view) throw new KindlingError('KND_PERSON_UNKNOWN', `there is no person called "${name}"`);
    return view;
  }

  async find(name: string): Promise<PersonView | undefined> {
    const row = await this.#store.get<PersonRow>('SELECT * FROM people WHERE name = ?', name);
    return row && viewOf(row, await this.tokens(name));
  }

  /** The tokens go with the person: somebody of the same name later does not get them back. */
  async remove(name: string): Promise<void> {
    refuseOwner(name);
    await this.#store.transaction(async () => {
      await this.get(name);
      await this.#store.run('DELETE FROM people WHERE name = ?', name);
      this.#tellOfLoss();
    });
  }

  async setDisabled(name: string, isDisabled: boolean): Promise<PersonView> {
    refuseOwner(name);
    return this.#store.transaction(async () => {
      await this.get(name);
      const at = isDisabled ? this.#now().toISOString() : null;
      await this.#store.run('UPDATE people SET disabled_at = ? WHERE name = ?', at, name);
      this.#tellOfLoss();
      return this.get(name);
    });
  }

  /** The only time that the token itself is seen. */
  async createToken(name: string, expiresAt: Date): Promise<TokenView & { token: string }> {
    const token = `knd_${randomBytes(32).toString('base64url')}`;
    const view: TokenView = {
      id: randomBytes(6).toString('hex'),
      person: name,
      createdAt: this.#now().toISOString(),
      expiresAt: expiresAt.toISOString(),
    };
    await this.#store.transaction(async () => {
      await this.get(name);
      await this.#store.run('DELETE FROM person_tokens WHERE expires_at <= ?', view.createdAt);
      await this.#store.run(
        'INSERT INTO person_tokens (id, person, hash, created_at, expires_at) VALUES (?, ?, ?, ?, ?)',
        view.id,
        name,
        hashOf(token),
        view.createdAt,
        view.expiresAt,
      );
    });
    return { ...view, token };
  }

  /** Tokens that have not ended, of one person or of all. */
  async tokens(name?: string): Promise<TokenView[]> {
    const rows = await this.#store.all<TokenRow>(
      `SELECT id, person, created_at, expires_at FROM person_tokens
       WHERE expires_at > ? AND person = coalesce(?, person) ORDER BY person, created_at, id`,
      this.#now().toISOString(),
      name ?? null,
    );
    return rows.map(({ id, person, created_at, expires_at }) => ({
      id,
      person,
      createdAt: created_at,
      expiresAt: expires_at,
    }));
  }

  /** With a name: only if the token is that person's. */
  async revokeToken(id: string, name?: string): Promise<void> {
    const count = await this.#store.run(
      'DELETE FROM person_tokens WHERE id = ? AND person = coalesce(?, person)',
      id,
      name ?? null,
    );
    if (count === 0) throw new KindlingError('KND_TOKEN_UNKNOWN', `there is no token ${id}`);
    this.#tellOfLoss();
  }

  /** Whose token it is. Undefined: it is not ours to judge. Throws where it was one and is no longer good. */
  async identify(token: string): Promise<Person | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const row = await this.#store.get<PersonRow & { expires_at: string }>(
      'SELECT people.*, expires_at FROM person_tokens JOIN people ON name = person WHERE hash = ?',
      hashOf(token),
    );
    if (!row) throw unauthenticated('the token is not known at this site, or was revoked');
    if (row.expires_at <= this.#now().toISOString()) {
      throw unauthenticated(`the token of ${row.name} ended on ${row.expires_at}`);
    }
    if (row.disabled_at !== null) throw unauthenticated(`${row.name} was disabled`);
    return { name: row.name, role: row.role, expires: row.expires_at };
  }

  #tellOfLoss(): void {
    this.#channel.tell({});
  }
}

function viewOf(row: PersonRow, tokens: readonly TokenView[]): PersonView {
  return {
    name: row.name,
    role: row.role,
    createdAt: row.created_at,
    isDisabled: row.disabled_at !== null,
    tokens: tokens.filter(({ person }) => person === row.name).length,
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function refuseOwner(name: string): void {
  if (name !== OWNER) return;
  throw new KindlingError('KND_PERSON_INVALID', `"${OWNER}" is the owner of the state folder`, {
    hint: 'Choose another name. The owner is an admin, and nobody can remove him.',
  });
}

function unauthenticated(message: string): KindlingError {
  return new KindlingError('KND_API_UNAUTHENTICATED', message, {
    hint: 'Ask an admin for a new token (kindling token create --for NAME).',
  });
}
