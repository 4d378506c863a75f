import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';

/** A loop device over a file, as a disk to write to. */
export class LoopDisk {
  readonly #file: string;
  readonly #isDirect: boolean;
  #device: string | undefined;

  /** `isDirect`: what is written goes past the page cache to the disk that the file is on. */
  constructor(file: string, { isDirect }: { isDirect: boolean }) {
    this.#file = file;
    this.#isDirect = isDirect;
  }

  /** Made new: all zeros, nothing allocated. */
  fresh(bytes: number): string {
    this.detach();
    writeFileSync(this.#file, '');
    truncateSync(this.#file, bytes);
    const options = this.#isDirect ? ['--direct-io=on'] : [];
    this.#device = execFileSync('losetup', [...options, '-f', '--show', this.#file], {
      encoding: 'utf8',
    }).trim();
    if (this.#isDirect) this.#checkDirect(this.#device);
    return this.#device;
  }

  detach(): void {
    if (this.#device) execFileSync('losetup', ['-d', this.#device]);
    this.#device = undefined;
    rmSync(this.#file, { force: true });
  }

  /** losetup only warns where the file system cannot do it, and the page cache would be measured. */
  #checkDirect(device: string): void {
    if (readFileSync(`/sys/block/${basename(device)}/loop/dio`, 'latin1').startsWith('1')) return;
    throw new KindlingError('KND_USAGE', `${this.#file} is on a file system without direct I/O`, {
      hint: 'Name a folder on a real disk: --disk <folder>.',
    });
  }
}
