import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { run } from '../../system/run.ts';
import type { DiskSpec } from './machine-spec.ts';

/** The raw file behind one disk of a machine; it can be read and written while the machine is off. */
export class DiskFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Makes the file a spec asks for: new and empty, a copy, or the given one itself. */
  static async create(spec: DiskSpec, folder: string, index: number): Promise<DiskFile> {
    if (spec.file !== undefined && !spec.copy) {
      await stat(spec.file).catch((cause: unknown) => {
        throw new KindlingError('KND_USAGE', `there is no disk image ${spec.file}`, { cause });
      });
      return new DiskFile(spec.file);
    }
    const path = join(folder, `disk${index}.raw`);
    if (spec.file !== undefined) {
      await run('cp', ['--sparse=always', '--reflink=auto', spec.file, path]);
      if (spec.size !== undefined) await run('truncate', ['-s', `>${parseSize(spec.size)}`, path]);
    } else {
      const handle = await open(path, 'w');
      await handle.truncate(parseSize(spec.size ?? '1G'));
      await handle.close();
    }
    return new DiskFile(path);
  }

  async size(): Promise<number> {
    return (await stat(this.path)).size;
  }

  async read(offset: number, length: number): Promise<Buffer> {
    await using handle = await open(this.path, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    await using handle = await open(this.path, 'r+');
    await handle.write(bytes, 0, bytes.length, offset);
  }
}

const UNITS: Record<string, number> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** `4G`, `512M`, `1048576` → bytes. */
export function parseSize(size: number | string): number {
  if (typeof size === 'number') return size;
  const [, digits, unit = ''] = /^(\d+)([KMGT]?)$/.exec(size) ?? [];
  if (digits === undefined) {
    throw new KindlingError(
      'KND_USAGE',
      `“${size}” is not a size; write it as 4G, 512M or a number of bytes`,
    );
  }
  return Number(digits) * (UNITS[unit] ?? 1);
}
