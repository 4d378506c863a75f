import { open, realpath } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import type { TftpFiles } from './tftp-server.ts';

/** Nothing larger is served over TFTP: a client that needs it should be given HTTP. */
const LARGEST_FILE_BYTES = 256 * 1024 * 1024;

/**
 * The files of one folder, each read once and shared by all transfers until it changes on disk.
 * `<anything>/name` finds `name` too, because clients are given names with their MAC in front.
 */
export class TftpFolder implements TftpFiles {
  readonly #root: string;
  readonly #cache = new Map<string, { version: string; content: Promise<Buffer> }>();

  constructor(root: string) {
    this.#root = root;
  }

  async read(name: string): Promise<Buffer | undefined> {
    return (
      (await this.#readFile(name)) ?? (name.includes('/') ? await this.#readFile(basename(name)) : undefined)
    );
  }

  async #readFile(name: string): Promise<Buffer | undefined> {
    const root = await realpath(this.#root);
    const path = await realpath(join(root, name)).catch(() => undefined);
    // A link inside the root may not lead out of it.
    if (!path?.startsWith(root + sep)) return undefined;
    await using file = await open(path, 'r');
    const info = await file.stat();
    if (!info.isFile() || info.size > LARGEST_FILE_BYTES) return undefined;
    const version = `${info.ino}-${info.size}-${info.mtimeMs}`;
    const cached = this.#cache.get(path);
    if (cached?.version === version) return cached.content;
    const content = file.readFile();
    this.#cache.set(path, { version, content });
    return await content;
  }
}
