import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { writePrivate } from '../../site/state-folder.ts';
import { parseSealingKeys, type SealingKeys } from './seal.ts';

/** The name of the credential in a systemd unit (systemd.exec(5), LoadCredential=). */
const CREDENTIAL = 'kindling-state-key';

export interface KeyLocation {
  stateFolder: string;
  /** Given on the command line. */
  file?: string | undefined;
  environment?: NodeJS.ProcessEnv;
}

/** The file with the keys that seal secrets in the database, one per line, the newest first. */
export class KeyFile {
  readonly path: string;
  /** We made it, so we change it. One that was given is changed by who gave it. */
  readonly isOurs: boolean;

  /** The file that was given, else systemd's credential, else a file in the state folder. */
  constructor({ stateFolder, file, environment = process.env }: KeyLocation) {
    const folder = environment['CREDENTIALS_DIRECTORY'];
    const credential = folder ? join(folder, CREDENTIAL) : undefined;
    const given = file ?? (credential !== undefined && existsSync(credential) ? credential : undefined);
    this.path = given ?? join(stateFolder, 'state-key');
    this.isOurs = given === undefined;
  }

  get exists(): boolean {
    return existsSync(this.path);
  }

  read(): SealingKeys {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (cause) {
      throw new KindlingError('KND_SEAL_KEY', `the key file ${this.path} cannot be read`, { cause });
    }
    return parseSealingKeys(text, this.path);
  }

  write(keys: SealingKeys): void {
    writePrivate(this.path, `${keys.map(({ text }) => text).join('\n')}\n`);
  }
}
