import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { formatChecksums } from '../../formats/checksum-list.ts';
import { encodeCpio } from '../../formats/cpio.ts';
import { KindlingError } from '../../protocol/error.ts';
import { step } from '../../system/step.ts';
import { cached, hashOf, hashOfFile } from '../build-cache.ts';
import { type DebianPackage, dependencyOf, resolvePackages, unpackPackage } from '../debian/packages.ts';
import { ensureAgent, mustHaveSources } from '../executable/agent-executable.ts';
import type { Profile } from './contents.ts';
import { saveOrigins } from './explain.ts';
import { ROOT_ARGUMENTS } from './kernel-arguments.ts';
import { initFiles, packageNames, rootFiles } from './root-files.ts';
import { addSections } from './uki.ts';

/** The files of a built Micro-OS. */
export interface MicroOs {
  folder: string;
  kernel: string;
  initramfs: string;
  /** Unified kernel image: kernel, initramfs and command line as one EFI program. */
  uki: string;
}

/** `quick` is for work on the code: seconds instead of a minute, a third larger, the same contents. */
export type Compression = 'quick' | 'small';

const LEVELS: Record<Compression, number> = { quick: 6, small: 19 };
/** How far back a repeat is found: 32 MB reach from the libraries of the tools to the same ones inside the agent, just
 * before them in the archive. The kernel needs that much memory to unpack; more would cost RAM at the worst moment. */
const WINDOW_LOG = 25;
/** The command line inside the unified kernel image; every other way to boot brings its own. */
const UKI_COMMAND_LINE = `${ROOT_ARGUMENTS} console=tty0 console=ttyS0,115200n8`;
const STUB = { package: 'systemd-boot-efi', path: 'usr/lib/systemd/boot/efi/linuxx64.efi.stub' };
const OUR_SOURCES = [
  'contents.ts',
  'kernel-modules.ts',
  'root-files.ts',
  'explain.ts',
  'uki.ts',
  'micro-os.ts',
  'kernel-arguments.ts',
  '../../formats/cpio.ts',
  '../../formats/elf.ts',
];

/** The Micro-OS for this profile, built only if something it is made of has changed. */
export async function ensureMicroOs(profile: Profile, compression: Compression = 'quick'): Promise<MicroOs> {
  mustHaveSources('the Micro-OS');
  const kernelName = await dependencyOf('linux-image-amd64', /^linux-image-[0-9].*-amd64$/);
  const [agent, resolved] = await Promise.all([
    ensureAgent(),
    resolvePackages([kernelName, STUB.package, ...packageNames(profile)]),
  ]);
  const kernel = resolved.find(({ name }) => name === kernelName);
  if (!kernel) throw new KindlingError('KND_BUILD_PACKAGE', `apt gave no kernel package ${kernelName}`);
  const packages = resolved.filter((one) => one !== kernel);

  const sources = [...OUR_SOURCES, ...(await initFiles()).map((path) => `../init/${path}`)];
  const inputs = {
    profile,
    compression,
    agent: agent,
    resolved,
    sources: await Promise.all(
      sources.map(async (path) => [path, await hashOfFile(join(import.meta.dirname, path))]),
    ),
  };
  const folder = await cached('micro-os', { inputs: hashOf(inputs) }, (target) =>
    step(`Micro-OS ${profile}`, (say) =>
      buildMicroOs(target, { profile, compression, packages, kernel, agent, say }),
    ),
  );
  return {
    folder,
    kernel: join(folder, 'vmlinuz-x86_64'),
    initramfs: join(folder, 'initramfs-x86_64'),
    uki: join(folder, 'kindling-x86_64.efi'),
  };
}

interface Recipe {
  profile: Profile;
  compression: Compression;
  packages: DebianPackage[];
  kernel: DebianPackage;
  agent: string;
  say: (progress: string) => void;
}

/** 1 kernel  2 root  3 compress  4 unified kernel image  5 checksums  6 where each file is from */
async function buildMicroOs(target: string, recipe: Recipe): Promise<void> {
  const { profile, compression, packages, kernel, agent, say } = recipe;
  say('Debian packages');
  const { image, version } = await readKernel(kernel);
  const files = await rootFiles(profile, packages, kernel, agent);
  say('compressing');
  const initramfs = await compress(encodeCpio(files), LEVELS[compression]);
  const uki = addSections(await readStub(packages), [
    { name: '.osrel', contents: Buffer.from(`ID=kindling\nPRETTY_NAME="Kindling Micro-OS (${profile})"\n`) },
    { name: '.uname', contents: Buffer.from(version) },
    { name: '.cmdline', contents: Buffer.from(`${UKI_COMMAND_LINE}\0`) },
    { name: '.initrd', contents: initramfs },
    { name: '.linux', contents: image },
  ]);
  await writeFile(join(target, 'vmlinuz-x86_64'), image);
  await writeFile(join(target, 'initramfs-x86_64'), initramfs);
  await writeFile(join(target, 'kindling-x86_64.efi'), uki);
  await writeChecksums(target);
  await saveOrigins(target, files);
}

async function readKernel(kernel: DebianPackage): Promise<{ image: Buffer; version: string }> {
  const folder = join(await unpackPackage(kernel), 'boot');
  const name = (await readdir(folder)).find((one) => one.startsWith('vmlinuz-'));
  if (!name)
    throw new KindlingError('KND_BUILD_PACKAGE', `the Debian package ${kernel.name} holds no kernel`);
  return { image: await readFile(join(folder, name)), version: name.slice('vmlinuz-'.length) };
}

async function readStub(packages: readonly DebianPackage[]): Promise<Buffer> {
  const debian = packages.find(({ name }) => name === STUB.package);
  if (!debian) throw new KindlingError('KND_BUILD_PACKAGE', `apt gave no package ${STUB.package}`);
  return readFile(join(await unpackPackage(debian), STUB.path));
}

async function compress(archive: Buffer, level: number): Promise<Buffer> {
  return promisify(zstdCompress)(archive, {
    pledgedSrcSize: archive.length,
    params: {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_windowLog]: WINDOW_LOG,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  });
}

async function writeChecksums(folder: string): Promise<void> {
  const names = await readdir(folder);
  const files = await Promise.all(
    names.map(async (name) => ({ name, sha256: await hashOfFile(join(folder, name)) })),
  );
  await writeFile(join(folder, 'SHA256SUMS'), formatChecksums(files));
}
