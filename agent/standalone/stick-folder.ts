import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from '../system/run.ts';

/** What the stick remembers about one machine. */
export interface MachineStatus {
  state: 'installed' | 'failed';
  at: string;
  nodeId: string;
  serial?: string;
  configId: string;
  /** Serial, or path, of the disk that was installed to. */
  disk?: string;
  /** How often this stick has sent an installed machine on to its disk. */
  handOvers?: number;
  error?: { code: string; message: string; hint: string };
}

const MOUNT_POINT = '/run/kindling/stick';

/** The partition for people, mounted only for the moment of a read or write: a stick may be pulled out at any time. */
export class StickFolder {
  readonly #device: string;
  readonly #run: Run;
  readonly #name: string;

  constructor(device: string, nodeId: string, run: Run) {
    this.#device = device;
    this.#run = run;
    this.#name = nodeId.replace(/[^A-Za-z0-9._-]/g, '_');
  }

  async readStatus(): Promise<MachineStatus | undefined> {
    return this.#mounted(async (folder) => {
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
    await this.#mounted(async (folder) => {
      await mkdir(join(folder, 'status'), { recursive: true });
      await mkdir(join(folder, 'logs'), { recursive: true });
      await writeFile(join(folder, 'logs', `${this.#name}.log`), `${log.join('\n')}\n`);
      await writeFile(
        join(folder, 'status', `${this.#name}.json`),
        `${JSON.stringify(status, undefined, 2)}\n`,
      );
    });
  }

  async #mounted<T>(work: (folder: string) => Promise<T>): Promise<T> {
    await mkdir(MOUNT_POINT, { recursive: true });
    await this.#run('mount', ['-t', 'vfat', this.#device, MOUNT_POINT]);
    try {
      return await work(MOUNT_POINT);
    } finally {
      await this.#run('umount', [MOUNT_POINT]);
      await rm(MOUNT_POINT, { recursive: true, force: true }).catch(() => {});
    }
  }
}
