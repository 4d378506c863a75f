import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readBuildStamp } from '../initrd/executable/bundle.ts';
import { formatBytes } from '../system/format-bytes.ts';
import { writeContainerFiles } from './container/container-files.ts';
import { buildOciImage } from './container/oci-image.ts';
import { buildDebianPackage } from './debian/debian-package.ts';
import { ensureKindling } from './kindling-executable.ts';
import { writeChecksums } from './sign-checksums.ts';

export interface ReleaseOptions {
  folder: string;
  /** The private key of the release; undefined: the list of checksums is not signed. */
  keyFile: string | undefined;
}

/** 1 an empty folder  2 the program as one file  3 Debian package  4 container image  5 checksums, signed. Gives what to tell the person who asked for it. */
export async function makeRelease({ folder, keyFile }: ReleaseOptions): Promise<string[]> {
  const stamp = await readBuildStamp([]);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const program = await ensureKindling();
  await copyFile(program, join(folder, `kindling-${stamp.version}-linux-x64`));
  await buildDebianPackage(program, stamp, folder);
  await buildOciImage(program, stamp, folder);
  await writeContainerFiles(stamp, folder);
  await writeChecksums(folder, keyFile);
  return describeFolder(folder, keyFile !== undefined);
}

async function describeFolder(folder: string, isSigned: boolean): Promise<string[]> {
  const names = (await readdir(folder)).sort();
  const files = await Promise.all(
    names.map(async (name) => `${join(folder, name)}  ${formatBytes((await stat(join(folder, name))).size)}`),
  );
  const unsigned = 'SHA256SUMS is not signed: give --key (docs/how-to/make-a-release.md)';
  return [...files, ...(isSigned ? [] : [unsigned])];
}
