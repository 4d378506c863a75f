import { createHash } from 'node:crypto';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { KindlingError } from '../../protocol/error.ts';
import { step } from '../../setup/step.ts';
import { cached, hashOf, hashOfFile } from '../build-cache.ts';
import { encodeCpio } from '../cpio.ts';
import { type DebianPackage, dependencyOf, resolvePackages, unpackPackage } from '../debian/packages.ts';
import { ensureAgent } from '../executable/agent-executable.ts';
import type { Profile } from './contents.ts';
import { initFiles, packageNames, rootFiles } from './root-files.ts';

/** The files of a built Micro-OS. */
export interface MicroOs {
  folder: string;
  kernel: string;
  initramfs: string;
}

/** `quick` is for work on the code: seconds instead of a minute, a third larger, the same contents. */
export type Compression = 'quick' | 'small';

const LEVELS: Record<Compression, number> = { quick: 6, small: 19 };
const OUR_SOURCES = ['contents.ts', 'kernel-modules.ts', 'root-files.ts', 'micro-os.ts', '../cpio.ts'];

/** The Micro-OS for this profile, built only if something it is made of has changed. */
export async function ensureMicroOs(profile: Profile, compression: Compression = 'quick'): Promise<MicroOs> {
  const kernelName = await dependencyOf('linux-image-amd64', /^linux-image-[0-9].*-amd64$/);
  const [agent, resolved] = await Promise.all([
    ensureAgent(),
    resolvePackages([kernelName, ...packageNames(profile)]),
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
  return { folder, kernel: join(folder, 'vmlinuz-x86_64'), initramfs: join(folder, 'initramfs-x86_64') };
}

interface Recipe {
  profile: Profile;
  compression: Compression;
  packages: DebianPackage[];
  kernel: DebianPackage;
  agent: string;
  say: (progress: string) => void;
}

/** 1 kernel  2 root  3 compress  4 checksums */
async function buildMicroOs(target: string, recipe: Recipe): Promise<void> {
  const { profile, compression, packages, kernel, agent, say } = recipe;
  say('Debian packages');
  const kernelFolder = join(await unpackPackage(kernel), 'boot');
  const image = (await readdir(kernelFolder)).find((name) => name.startsWith('vmlinuz-'));
  if (!image) throw new KindlingError('KND_BUILD_PACKAGE', `${kernel.name} holds no kernel`);
  await copyFile(join(kernelFolder, image), join(target, 'vmlinuz-x86_64'));
  const files = await rootFiles(profile, packages, kernel, agent);
  say('compressing');
  await writeFile(join(target, 'initramfs-x86_64'), await compress(encodeCpio(files), LEVELS[compression]));
  await writeChecksums(target);
}

async function compress(archive: Buffer, level: number): Promise<Buffer> {
  return promisify(zstdCompress)(archive, {
    pledgedSrcSize: archive.length,
    params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 },
  });
}

async function writeChecksums(folder: string): Promise<void> {
  const lines: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const hash = createHash('sha256').update(await readFile(join(folder, name)));
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''));
}
