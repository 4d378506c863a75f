import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { unpackKernel } from '../../../lab/qemu/unpack-kernel.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-kernel-'));
  vi.stubEnv('XDG_CACHE_HOME', folder);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** A file like Debian’s: two sectors of set-up code, some code that unpacks, the payload, and its length behind it. */
function kernelFile(payload: Buffer): string {
  const setup = Buffer.alloc(3 * 512);
  setup[0x1f1] = 2;
  setup.write('HdrS', 0x202);
  setup.writeUInt32LE(100, 0x248);
  setup.writeUInt32LE(payload.length, 0x24c);
  const path = join(folder, 'vmlinuz');
  writeFileSync(path, Buffer.concat([setup, Buffer.alloc(100, 0x90), payload, Buffer.alloc(64)]));
  return path;
}

const xz = (input: Buffer) => execFileSync('xz', ['--x86', '--lzma2=preset=0', '--check=crc32'], { input });
const length = (bytes: Buffer) => {
  const word = Buffer.alloc(4);
  word.writeUInt32LE(bytes.length);
  return word;
};

it('takes the program out of a kernel that is packed with xz', async () => {
  const program = Buffer.concat([Buffer.from('\x7fELF', 'latin1'), Buffer.alloc(5000, 'kernel')]);
  const unpacked = await unpackKernel(kernelFile(Buffer.concat([xz(program), length(program)])));
  expect(readFileSync(unpacked ?? '')).toEqual(program);
});

it('leaves kernels that are packed in another way alone', async () => {
  expect(await unpackKernel(kernelFile(Buffer.from('28b52ffd00000000', 'hex')))).toBeUndefined();
});

it('leaves files that are no kernel alone', async () => {
  const path = join(folder, 'text');
  writeFileSync(path, 'no kernel');
  expect(await unpackKernel(path)).toBeUndefined();
});

it('does not hand out what is no program', async () => {
  await expect(unpackKernel(kernelFile(xz(Buffer.from('text'))))).rejects.toThrow(/no program/);
});
