import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { cached, hashOf, hashOfFile, isCached } from '../build-cache.ts';
import { runTool } from '../build-tool.ts';

/** One Debian package as apt would download it now. */
export interface DebianPackage {
  name: string;
  version: string;
  sha256: string;
}

// apt drops to the user _apt for downloads, who cannot write into a cache below /root.
const APT_OPTIONS = ['-o', 'APT::Sandbox::User=root'];

/** Which version of each package apt would download, with the hash from apt's signed lists. Installs nothing. */
export async function resolvePackages(names: readonly string[]): Promise<DebianPackage[]> {
  const wanted = [...new Set(names)].sort();
  // Asking apt takes most of a second; its answer depends on nothing but the names and its lists.
  const folder = await cached('apt-answers', { wanted, lists: await aptListsState() }, async (target) => {
    await writeFile(join(target, 'packages.json'), JSON.stringify(await askApt(wanted)));
  });
  return JSON.parse(await readFile(join(folder, 'packages.json'), 'utf8')) as DebianPackage[];
}

/** The package's files, unpacked below the returned folder. */
export async function unpackPackage(debian: DebianPackage): Promise<string> {
  const [folder = ''] = await unpackPackages([debian]);
  return folder;
}

/** The files of each package, in the order asked for. What the cache lacks comes with one run of apt: each run reads all its lists. */
export async function unpackPackages(packages: readonly DebianPackage[]): Promise<string[]> {
  const missing = packages.filter((one) => !isCached('debian', one));
  const downloads = await mkdtemp(join(tmpdir(), 'kindling-debian-'));
  try {
    if (missing.length > 0) await downloadPackages(missing, downloads);
    const debs = new Map<string, string>();
    for (const file of await readdir(downloads)) debs.set(await hashOfFile(join(downloads, file)), file);
    const folders: string[] = [];
    for (const one of packages) folders.push(await unpack(one, downloads, debs.get(one.sha256)));
    return folders;
  } finally {
    await rm(downloads, { recursive: true, force: true });
  }
}

/** The package files themselves, into the folder. */
export async function downloadPackages(packages: readonly DebianPackage[], folder: string): Promise<void> {
  const wanted = packages.map(({ name, version }) => `${name}=${version}`);
  await aptGet(['download', ...wanted], wanted.join(' '), folder);
}

async function unpack(debian: DebianPackage, downloads: string, deb: string | undefined): Promise<string> {
  const folder = await cached('debian', debian, async (target) => {
    if (deb === undefined)
      throw new KindlingError(
        'KND_BUILD_PACKAGE',
        `the downloaded ${debian.name} ${debian.version} does not have the hash apt's lists give it`,
      );
    await runTool('dpkg-deb', ['-x', join(downloads, deb), join(target, 'files')]);
  });
  return join(folder, 'files');
}

/** The package that a metapackage such as linux-image-amd64 stands for. */
export async function dependencyOf(metapackage: string, pattern: RegExp): Promise<string> {
  const [resolved] = await resolvePackages([metapackage]);
  const folder = await cached(
    'apt-answers',
    { dependenciesOf: resolved, pattern: pattern.source },
    async (target) => {
      const answer = await runTool('apt-cache', ['show', `${metapackage}=${resolved?.version}`]);
      const depends = /^Depends: (.*)$/m.exec(answer)?.[1] ?? '';
      const name = depends
        .split(/[,|] */)
        .map((one) => one.split(' ')[0] ?? '')
        .find((one) => pattern.test(one));
      if (!name)
        throw new KindlingError('KND_BUILD_PACKAGE', `${metapackage} depends on nothing like ${pattern}`);
      await writeFile(join(target, 'name'), name);
    },
  );
  return readFile(join(folder, 'name'), 'utf8');
}

async function askApt(names: readonly string[]): Promise<DebianPackage[]> {
  // "'http://…' libc6_2.36-9_amd64.deb 2755092 SHA256:…"; a colon of the version is written %3a in the file name.
  const stdout = await aptGet(['--print-uris', 'download', ...names], names.join(' '));
  return stdout
    .split('\n')
    .filter((line) => line.startsWith("'"))
    .map((line) => {
      const [, file = '', , hash = ''] = line.split(' ');
      const [name = '', version = ''] = file.split('_').map(decodeURIComponent);
      const sha256 = /^SHA256:([0-9a-f]{64})$/.exec(hash)?.[1];
      if (!sha256)
        throw new KindlingError('KND_BUILD_PACKAGE', `apt knows no SHA-256 of the package ${name}`);
      return { name, version, sha256 };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function aptGet(args: string[], subject: string, cwd?: string): Promise<string> {
  try {
    return await runTool('apt-get', ['-q', ...APT_OPTIONS, ...args], cwd ? { cwd } : {});
  } catch (cause) {
    throw new KindlingError('KND_BUILD_PACKAGE', `apt could not give the Debian package(s) ${subject}`, {
      cause,
    });
  }
}

async function aptListsState(): Promise<string> {
  const lists = '/var/lib/apt/lists';
  const names = (await readdir(lists).catch(() => [])).filter((name) => name.includes('_Packages'));
  const states = await Promise.all(
    names.sort().map(async (name) => [name, (await stat(join(lists, name))).mtimeMs]),
  );
  return hashOf(states);
}
