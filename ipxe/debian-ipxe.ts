import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, hashOfFile } from '../initrd/build-cache.ts';
import { runTool } from '../initrd/build-tool.ts';
import { debianSources } from '../initrd/debian/mirror.ts';
import { KindlingError } from '../protocol/error.ts';

/**
 * The iPXE we ship: Debian's own build, pinned. Bookworm's is of 2019 (no HTTPS, no autoexec.ipxe), so it is trixie's,
 * which runs our script from autoexec.ipxe and trusts the CA that the firmware holds.
 */
const PINNED = {
  suite: 'trixie',
  package: 'ipxe',
  version: '1.21.1+git20250501.dad20602+dfsg-1',
  sha256: 'eeaca79dbde0fb86c102bf1d362c6f6a67ed0ddab38b3dd12e1b332339f5dd99',
} as const;

/** Name our servers give a file → where the Debian package has it. */
const FILES = {
  'undionly.kpxe': 'usr/lib/ipxe/undionly.kpxe',
  'ipxe.efi': 'usr/lib/ipxe/ipxe.efi',
  'snponly.efi': 'usr/lib/ipxe/snponly.efi',
} as const;

/** A folder with undionly.kpxe, ipxe.efi and snponly.efi; downloaded once, checked against the pinned hash. */
export async function ensureIpxe(): Promise<string> {
  return cached('ipxe', { ...PINNED, files: FILES }, async (target) => {
    const work = join(target, 'work');
    await mkdir(work);
    const deb = await downloadFromSuite(work);
    const hash = await hashOfFile(deb);
    if (hash !== PINNED.sha256) {
      throw new KindlingError(
        'KND_IPXE_UNAVAILABLE',
        `${PINNED.package} has the hash ${hash}, not the pinned ${PINNED.sha256}`,
      );
    }
    await runTool('dpkg-deb', ['-x', deb, join(work, 'files')]);
    for (const [name, path] of Object.entries(FILES))
      await copyFile(join(work, 'files', path), join(target, name));
    await rm(work, { recursive: true });
  });
}

/** Downloads with apt from a suite this machine is not set up for, leaving the machine's own apt alone. */
async function downloadFromSuite(work: string): Promise<string> {
  const folders = {
    lists: join(work, 'lists'),
    cache: join(work, 'cache'),
    download: join(work, 'download'),
  };
  await mkdir(join(folders.lists, 'partial'), { recursive: true });
  await mkdir(join(folders.cache, 'archives/partial'), { recursive: true });
  await mkdir(folders.download);
  await writeFile(join(work, 'sources.list'), `${(await debianSources(PINNED.suite)).join('\n')}\n`);
  await writeFile(
    join(work, 'apt.conf'),
    `${[
      `Dir::Etc::sourcelist "${join(work, 'sources.list')}";`,
      'Dir::Etc::sourceparts "/dev/null";',
      `Dir::State::lists "${folders.lists}";`,
      `Dir::Cache "${folders.cache}";`,
      'Acquire::Languages "none";',
      'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";',
      'APT::Sandbox::User "root";',
      'Acquire::Retries "3";',
      // without this a mirror that cannot be reached is only a warning, and the package seems not to exist
      'APT::Update::Error-Mode "any";',
    ].join('\n')}\n`,
  );
  const env = { APT_CONFIG: join(work, 'apt.conf') };
  try {
    await runTool('apt-get', ['-q', 'update'], { env });
    await runTool('apt-get', ['-q', 'download', `${PINNED.package}=${PINNED.version}`], {
      env,
      cwd: folders.download,
    });
  } catch (cause) {
    throw new KindlingError(
      'KND_IPXE_UNAVAILABLE',
      `Debian's ${PINNED.package} ${PINNED.version} could not be downloaded`,
      { cause },
    );
  }
  const [file = ''] = await readdir(folders.download);
  return join(folders.download, file);
}
