import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { ext4Disk, type LoopDisk, loopDisk } from '../actions/loop-disk.ts';

/**
 * A small ext4 file system of its own that can be made to fail. The kernel of our build machines has no device mapper, so the
 * faults are those that ext4 itself offers for tests: an error that makes it read-only, and a shutdown, after which every read
 * and write fails and what was not synced is gone, as after a power cut.
 */
export class FailingDisk implements AsyncDisposable {
  readonly folder: string;
  #disk: LoopDisk;

  private constructor(folder: string, disk: LoopDisk) {
    this.folder = folder;
    this.#disk = disk;
  }

  static async make(): Promise<FailingDisk> {
    const disk = new FailingDisk(await mkdtemp(join(tmpdir(), 'kindling-failing-disk-')), await ext4Disk());
    await disk.#mount();
    return disk;
  }

  /** Takes every last block. */
  fill(): void {
    const file = openSync(join(this.folder, 'filler'), 'a');
    for (const bytes of [1024 * 1024, 4096]) {
      const block = Buffer.alloc(bytes, 1);
      try {
        for (;;) writeSync(file, block);
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== 'ENOSPC') throw thrown;
      }
    }
    closeSync(file);
  }

  makeRoom(): void {
    rmSync(join(this.folder, 'filler'));
  }

  /** The kernel finds an error and makes the file system read-only. */
  makeReadOnly(): void {
    writeFileSync(`/sys/fs/ext4/${basename(this.#disk.device)}/trigger_fs_error`, '1');
  }

  /** The disk goes away in the middle of it all. */
  async shutDown(): Promise<void> {
    await execa('xfs_io', ['-x', '-c', 'shutdown', this.folder]);
  }

  /**
   * What a person does after the last two; nothing may have it open. It is a copy on a device of its own: a mount namespace that some
   * other process made meanwhile (a container, `ip netns exec`) keeps the mount, and while it does, the old device gives the file
   * system that has failed again and again.
   */
  async mountAgain(): Promise<void> {
    await execa('umount', [this.folder]);
    const failed = this.#disk;
    this.#disk = await loopDisk(0);
    await copyFile(failed.file, this.#disk.file);
    await execa('losetup', ['--set-capacity', this.#disk.device]);
    await failed[Symbol.asyncDispose]();
    await this.#mount();
  }

  async #mount(): Promise<void> {
    await execa('mount', ['-o', 'errors=remount-ro', this.#disk.device, this.folder]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await execa('umount', [this.folder]);
    await this.#disk[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true });
  }
}
