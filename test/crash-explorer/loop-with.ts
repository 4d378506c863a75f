import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A loop device with this content and sectors of this size; ranges of it are further ones, as partitions are. */
export class LoopWith implements Disposable {
  readonly device: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'kindling-loop-with-'));
  readonly #devices: string[] = [];

  constructor(content: Buffer, sectorSize = 512) {
    writeFileSync(this.#file, content);
    this.device = this.#attach(['--sector-size', String(sectorSize)]);
  }

  get #file(): string {
    return join(this.#folder, 'disk');
  }

  partition(start: number, size: number): string {
    return this.#attach(['--offset', String(start), '--sizelimit', String(size)]);
  }

  #attach(options: readonly string[]): string {
    const args = ['--find', '--show', ...options, this.#file];
    const device = execFileSync('losetup', args, { encoding: 'utf8' }).trim();
    this.#devices.push(device);
    return device;
  }

  [Symbol.dispose](): void {
    for (const device of this.#devices) execFileSync('losetup', ['-d', device]);
    rmSync(this.#folder, { recursive: true });
  }
}
