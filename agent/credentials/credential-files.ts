import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files EMF's other programs on the node look for, under the names they look for; and our own. */
const FILES = {
  clientId: 'client_id',
  clientSecret: 'client_secret',
  projectId: 'project_id',
  accessToken: 'idp_access_token',
  releaseToken: 'release_token',
  /** Ours: the private key of this boot, which the onboarding server encrypts the client secret to. */
  nodeKey: 'kindling_node_key',
} as const;

export type CredentialName = keyof typeof FILES;

/** Credentials in a folder that lives in RAM, each in its own file, mode 0600. */
export class CredentialFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Replaces a file in one step, so that a reader never sees half a token. */
  write(values: Partial<Record<CredentialName, string>>): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    for (const [name, value] of Object.entries(values) as [CredentialName, string][]) {
      const path = this.#pathOf(name);
      const fresh = `${path}.new-${process.pid}`;
      writeFileSync(fresh, value, { mode: 0o600 });
      chmodSync(fresh, 0o600); // whatever the umask and an old file say
      renameSync(fresh, path);
    }
  }

  read(name: CredentialName): string | undefined {
    try {
      const value = readFileSync(this.#pathOf(name), 'utf8').trim();
      return value === '' ? undefined : value;
    } catch {
      return undefined;
    }
  }

  remove(...names: CredentialName[]): void {
    for (const name of names) rmSync(this.#pathOf(name), { force: true });
  }

  #pathOf(name: CredentialName): string {
    return join(this.#folder, FILES[name]);
  }
}
