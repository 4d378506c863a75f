import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stickFileName } from '../../protocol/stick.ts';
import { replaceFile } from '../../system/replace-file.ts';
import type { Run } from '../../system/run.ts';
import { withStickMounted } from './mount-stick.ts';
import { addRecoveryKey, type RecoveryKey } from './recovery-key-file.ts';

/** What the stick remembers about one machine. */
export interface MachineStatus {
  state: 'installed' | 'failed';
  at: string;
  nodeId: string;
  serial?: string;
  configId: string;
  /** Serial, or path, of the disk that was installed to. */
  disk?: string;
  /** How often this stick has sent an installed machine on to its disk, lately, and when it did so last. */
  handOvers?: number;
  handedOverAt?: string;
  error?: { code: string; message: string; hint: string };
}

/** The machine's files on the partition for people, mounted only for the moment of a read or write. */
export class StickFolder {
  readonly #device: string;
  readonly #run: Run;
  readonly #name: string;

  constructor(device: string, nodeId: string, run: Run) {
    this.#device = device;
    this.#run = run;
    this.#name = stickFileName(nodeId);
  }

  async readStatus(): Promise<MachineStatus | undefined> {
    return withStickMounted(this.#device, this.#run, async (folder) => {
      try {
        return JSON.parse(
          await readFile(join(folder, 'status', `${this.#name}.json`), 'utf8'),
        ) as MachineStatus;
      } catch {
        return undefined;
      }
    });
  }

  async write(status: MachineStatus, log: readonly string[]): Promise<void> {
    await withStickMounted(this.#device, this.#run, async (folder) => {
      await mkdir(join(folder, 'status'), { recursive: true });
      await mkdir(join(folder, 'logs'), { recursive: true });
      await writeFile(join(folder, 'logs', `${this.#name}.log`), `${log.join('\n')}\n`);
      // without a status that can be read the machine would be installed a second time
      await replaceFile(
        join(folder, 'status', `${this.#name}.json`),
        `${JSON.stringify(status, undefined, 2)}\n`,
      );
    });
  }

  /** Adds the key to those of this machine. It is on the stick when this resolves. */
  async keepRecoveryKey(key: RecoveryKey): Promise<void> {
    await withStickMounted(this.#device, this.#run, async (folder) => {
      await addRecoveryKey(join(folder, 'recovery-keys', `${this.#name}.json`), key);
    });
  }
}
