import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stickFileName } from '../../protocol/stick.ts';
import type { Run } from '../../system/run.ts';
import { withStickMounted } from './mount-stick.ts';

/** What fde_dmv posts. */
export interface RecoveryKey {
  keyId: string;
  recoveryKey: string;
  disk: object;
}

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
      await writeFile(
        join(folder, 'status', `${this.#name}.json`),
        `${JSON.stringify(status, undefined, 2)}\n`,
      );
    });
  }

  /** Adds the key to those of this machine; an older one may still be the one that opens its disk. It is on the stick when this resolves. */
  async keepRecoveryKey(key: RecoveryKey): Promise<void> {
    await withStickMounted(this.#device, this.#run, async (folder) => {
      const file = join(folder, 'recovery-keys', `${this.#name}.json`);
      await mkdir(dirname(file), { recursive: true });
      const known = await readFile(file, 'utf8').then(
        (text) => JSON.parse(text) as RecoveryKey[],
        () => [],
      );
      const others = known.filter(({ keyId }) => keyId !== key.keyId);
      const all = [...others, { ...key, at: new Date().toISOString() }];
      await writeFile(file, `${JSON.stringify(all, undefined, 2)}\n`);
    });
  }
}
