import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, hashOfFile } from '../../initrd/build-cache.ts';
import { KindlingError } from '../../protocol/error.ts';

/** Documentation/x86/boot.rst: what a bzImage says about itself. */
const SETUP_SECTORS = 0x1f1;
const SECTOR = 512;
const HEADER_MAGIC = { at: 0x202, text: 'HdrS' };
const PAYLOAD_OFFSET = 0x248;
const PAYLOAD_LENGTH = 0x24c;
const XZ_MAGIC = Buffer.from('fd377a585a00', 'hex');
const ELF_MAGIC = Buffer.from('7f454c46', 'hex');
const LARGEST_KERNEL = 512 * 2 ** 20;

/**
 * The program inside a kernel file, which QEMU starts as it is on a machine with a BIOS: Debian's kernels are packed with xz, and
 * unpacking one is a third of a whole boot where the processor is emulated. Undefined if it is not packed like that.
 */
export async function unpackKernel(kernel: string): Promise<string | undefined> {
  const payload = xzPayload(await readFile(kernel));
  if (!payload) return undefined;
  const folder = await cached('unpacked-kernel', { kernel: await hashOfFile(kernel) }, async (target) => {
    await writeFile(join(target, 'vmlinux'), unpackXz(payload));
  });
  return join(folder, 'vmlinux');
}

function xzPayload(file: Buffer): Buffer | undefined {
  const { at, text } = HEADER_MAGIC;
  if (file.toString('latin1', at, at + text.length) !== text) return undefined;
  const protectedMode = ((file[SETUP_SECTORS] || 4) + 1) * SECTOR;
  const start = protectedMode + file.readUInt32LE(PAYLOAD_OFFSET);
  const payload = file.subarray(start, start + file.readUInt32LE(PAYLOAD_LENGTH));
  return payload.subarray(0, XZ_MAGIC.length).equals(XZ_MAGIC) ? payload : undefined;
}

/** Behind the stream stands the length of what it holds, which is no part of it. */
function unpackXz(payload: Buffer): Buffer {
  const program = execFileSync('xz', ['-dc', '--single-stream'], {
    input: payload,
    maxBuffer: LARGEST_KERNEL,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (!program.subarray(0, ELF_MAGIC.length).equals(ELF_MAGIC)) {
    throw new KindlingError('KND_BUILD_PACKAGE', 'what is packed in the kernel file is no program');
  }
  return program;
}
