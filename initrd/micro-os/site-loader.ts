import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSea } from 'node:sea';
import { readElf, SEGMENT } from '../../formats/elf.ts';
import { readOwnFile } from '../../system/own-file.ts';
import { cached, hashOfFile } from '../build-cache.ts';
import { runTool } from '../build-tool.ts';
import { makeEfiProgram } from './efi-program.ts';
import { addSections } from './uki.ts';

/** What a loader starts, and what it insists on (loader/loader.c). */
export interface SiteLoaderParts {
  /** Without the site's signature: signed, the firmware would start it by itself, with any initramfs. */
  kernel: Buffer;
  commandLine: string;
  /** What the boot program must hand over as initrd: these, in this order, and nothing else. */
  initrds: readonly { name: string; contents: Buffer }[];
}

const SOURCES = join(import.meta.dirname, '../loader');
const FILES = ['loader.c', 'efi.h', 'sha256.h', 'loader.ld'];
/** The name of the compiled loader inside the one-file executable. */
export const LOADER_CODE = 'initrd/loader/loader.bin';
/** For shims: programs whose generation is below the one a shim asks for are refused. */
const SBAT = `sbat,1,SBAT Version,sbat,1,https://github.com/rhboot/shim/blob/main/SBAT.md
kindling.loader,1,Kindling,kindling.loader,1,initrd/loader/loader.c
`;
const PIN = { size: 8, sha256: 32, name: 24 };
// The firmware calls with no red zone; without the pattern option gcc would call memset, which does not exist here.
const COMPILER_OPTIONS = [
  '-O2',
  '-Wall',
  '-Wextra',
  '-Werror',
  '-ffreestanding',
  '-fPIE',
  '-mno-red-zone',
  '-fno-stack-protector',
  '-fno-asynchronous-unwind-tables',
  '-fno-tree-loop-distribute-patterns',
  '-fno-jump-tables',
  '-ffunction-sections',
  '-nostdlib',
  '-static-pie',
  '-Wl,--build-id=none',
];

/** The loader for one kernel, command line and set of initrds; not signed yet. Same parts, same bytes. */
export async function buildSiteLoader({ kernel, commandLine, initrds }: SiteLoaderParts): Promise<Buffer> {
  return addSections(makeEfiProgram(await loaderCode()), [
    { name: '.sbat', contents: Buffer.from(SBAT) },
    { name: '.cmdline', contents: Buffer.from(`${commandLine}\0`) },
    { name: '.pins', contents: encodePins(initrds) },
    { name: '.linux', contents: kernel },
  ]);
}

/** The number of pins, then size, SHA-256 and name of each. */
function encodePins(initrds: SiteLoaderParts['initrds']): Buffer {
  const count = Buffer.alloc(8);
  count.writeBigUInt64LE(BigInt(initrds.length));
  return Buffer.concat([
    count,
    ...initrds.map(({ name, contents }) => {
      const pin = Buffer.alloc(PIN.size + PIN.sha256 + PIN.name);
      pin.writeBigUInt64LE(BigInt(contents.length));
      createHash('sha256').update(contents).digest().copy(pin, PIN.size);
      pin.write(name, PIN.size + PIN.sha256, PIN.name - 1, 'latin1');
      return pin;
    }),
  ]);
}

/** The loader's machine code, compiled here; the one-file `kindling` carries it, so that a site needs no compiler. */
export async function loaderCode(): Promise<Buffer> {
  if (isSea()) return readOwnFile(LOADER_CODE);
  const sources = await Promise.all(FILES.map((name) => hashOfFile(join(SOURCES, name))));
  const folder = await cached('loader', { sources, COMPILER_OPTIONS }, async (target) => {
    const elf = join(target, 'loader.elf');
    const script = `-Wl,-T,${join(SOURCES, 'loader.ld')}`;
    await runTool('gcc', [...COMPILER_OPTIONS, script, '-o', elf, join(SOURCES, 'loader.c')]);
    await writeFile(join(target, 'loader.bin'), textOf(await readFile(elf)));
  });
  return readFile(join(folder, 'loader.bin'));
}

/** The loader's one segment: code and constants, linked to address 0, entry first (loader.ld sees to it). */
function textOf(elf: Buffer): Buffer {
  const code = readElf(elf, 'loader.elf').segments.find(({ type }) => type === SEGMENT.LOAD);
  return elf.subarray(code?.offset, (code?.offset ?? 0) + (code?.fileSize ?? 0));
}
