import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';

const ALIGNMENT = 4096;
const PIECE = 4 << 20;

/**
 * A disk held for us alone (O_EXCL: the kernel refuses if anything on it is mounted, mapped or held by another), read and written past
 * the page cache, so that what is read back comes from the device.
 */
export class BlockDevice implements AsyncDisposable {
  readonly path: string;
  readonly sizeBytes: number;
  readonly #handle: FileHandle;
  readonly #buffer = alignedBuffer(PIECE);
  /** One buffer, so one transfer at a time. */
  #busy: Promise<unknown> = Promise.resolve();

  private constructor(devicePath: string, sizeBytes: number, handle: FileHandle) {
    this.path = devicePath;
    this.sizeBytes = sizeBytes;
    this.#handle = handle;
  }

  static async open(devicePath: string): Promise<BlockDevice> {
    const name = await kernelName(devicePath);
    const sectors = Number(await readFile(`/sys/class/block/${name}/size`, 'utf8'));
    const handle = await open(devicePath, constants.O_RDWR | constants.O_EXCL | constants.O_DIRECT).catch(
      async (cause: NodeJS.ErrnoException) => {
        if (cause.code !== 'EBUSY') {
          throw new KindlingError('KND_DISK_IO', `${devicePath} cannot be opened: ${cause.message}`, {
            cause,
          });
        }
        throw new KindlingError('KND_DISK_BUSY', `${devicePath} is in use${await whoUses(name)}`, { cause });
      },
    );
    return new BlockDevice(devicePath, sectors * 512, handle);
  }

  /** Any range; reads whole 4 KiB blocks and cuts out what was asked for. Short at the end of the disk. */
  async readAt(offset: number, length: number): Promise<Buffer> {
    const end = Math.min(offset + length, this.sizeBytes);
    const pieces: Buffer[] = [];
    for (let at = offset; at < end; ) {
      const aligned = at - (at % ALIGNMENT);
      const wanted = Math.min(PIECE, roundUp(end - aligned), this.sizeBytes - aligned);
      const piece = await this.#exclusively(async () => {
        const { bytesRead } = await this.#attempt('read', aligned, () =>
          this.#handle.read(this.#buffer, 0, wanted, aligned),
        );
        return Buffer.from(this.#buffer.subarray(at - aligned, Math.min(bytesRead, end - aligned)));
      });
      if (piece.length === 0) break;
      pieces.push(piece);
      at += piece.length;
    }
    return Buffer.concat(pieces);
  }

  /** Whole sectors only. */
  async writeAt(offset: number, bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length; done += PIECE) {
      const piece = bytes.subarray(done, done + PIECE);
      await this.#exclusively(async () => {
        piece.copy(this.#buffer);
        await this.#attempt('write', offset + done, () =>
          this.#handle.write(this.#buffer, 0, piece.length, offset + done),
        );
      });
    }
  }

  /** Writes zeros over a range of whole sectors. */
  async zero(
    offset: number,
    length: number,
    options: { signal?: AbortSignal; onProgress?: (bytes: number) => void } = {},
  ): Promise<void> {
    for (let done = 0; done < length; ) {
      options.signal?.throwIfAborted();
      const size = Math.min(PIECE, length - done);
      await this.#exclusively(async () => {
        this.#buffer.fill(0, 0, size);
        await this.#attempt('write', offset + done, () =>
          this.#handle.write(this.#buffer, 0, size, offset + done),
        );
      });
      done += size;
      options.onProgress?.(done);
    }
  }

  async sync(): Promise<void> {
    await this.#attempt('sync', 0, () => this.#handle.sync());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#busy;
    await this.#handle.close();
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#busy.then(work);
    this.#busy = result.catch(() => {});
    return result;
  }

  async #attempt<T>(what: string, offset: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new KindlingError('KND_DISK_IO', `${this.path} failed to ${what} at byte ${offset}: ${message}`, {
        cause,
        evidence: { device: this.path, offset },
      });
    }
  }
}

/** Node has it, but the type library without the browser's has only its namespace. */
const { WebAssembly: wasm } = globalThis as unknown as {
  WebAssembly: { Memory: new (descriptor: { initial: number }) => { buffer: ArrayBuffer } };
};

/** WebAssembly memory is mapped on page boundaries, which O_DIRECT wants and Buffer.alloc does not promise. */
function alignedBuffer(bytes: number): Buffer {
  return Buffer.from(new wasm.Memory({ initial: Math.ceil(bytes / 65536) }).buffer, 0, bytes);
}

const roundUp = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** By device number, not by path: without udev /dev/mapper/root is a device node of its own and no link to dm-0. */
async function kernelName(devicePath: string): Promise<string> {
  const { rdev } = await stat(devicePath);
  // <sys/sysmacros.h>: the number is split in four.
  const major = (rdev >>> 8) & 0xfff;
  const minor = (rdev & 0xff) | ((rdev >>> 12) & 0xfff00);
  return path.basename(await realpath(`/sys/dev/block/${major}:${minor}`));
}

async function whoUses(name: string): Promise<string> {
  const mounts = (await readFile('/proc/mounts', 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith(`/dev/${name}`))
    .map((line) => line.split(' ').slice(0, 2).join(' on '));
  const holders = await readdir(`/sys/class/block/${name}/holders`).catch(() => []);
  const users = [...mounts, ...holders.map((holder) => `held by ${holder}`)];
  return users.length > 0 ? ` (${users.join(', ')})` : ' by another program';
}
