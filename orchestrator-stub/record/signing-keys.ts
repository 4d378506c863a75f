import type { KeyObject } from 'node:crypto';
import { openArchiveKeys, publicArchiveKeys } from '../../site/archive-key.ts';

/** The site's keys that sign records. They are read anew each time: `kindling build site --rotate archive` changes them meanwhile. */
export class SigningKeys {
  readonly #stateFolder: string;

  constructor(stateFolder: string) {
    this.#stateFolder = stateFolder;
  }

  private(): KeyObject[] {
    return openArchiveKeys(this.#stateFolder);
  }

  /** In the same order. */
  public(): string[] {
    return publicArchiveKeys(this.private());
  }
}
