import { globSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { runTool } from '../../initrd/build-tool.ts';
import type { BuildStamp } from '../../system/build-stamp.ts';
import { bashCompletion, fishCompletion, zshCompletion } from '../commands/completion.ts';
import { manPages } from '../commands/man-page.ts';
import { loadWholeProgram } from '../commands/whole-program.ts';
import { configTemplate } from './config-template.ts';

const HERE = import.meta.dirname;
const MAINTAINER = 'The Kindling authors <kindling@localhost.localdomain>';
const UNITS = ['kindling', 'kindling-pxe', 'kindling-mirror'];
const SCRIPTS = ['postinst', 'prerm', 'postrm'];
const SETTINGS = { state: '/var/lib/kindling' };
const EXECUTABLE = 0o755;
const READABLE = 0o644;

/** Everything in the package but the program itself, by its path in the system. */
type Contents = Map<string, string | Buffer>;

/** 1 what goes in  2 write it into a folder, every file of the commit's time  3 dpkg-deb. Gives the name of the package. */
export async function buildDebianPackage(
  program: string,
  stamp: BuildStamp,
  output: string,
): Promise<string> {
  const contents = await packageContents(stamp);
  const work = await mkdtemp(join(tmpdir(), 'kindling-debian-'));
  try {
    const root = join(work, 'root');
    await place(join(root, 'usr/bin/kindling'), await readFile(program), EXECUTABLE);
    for (const [path, content] of contents) await place(join(root, path), content, READABLE);
    await writeControl(root, stamp, contents);
    await setTimes(root, stamp.time);
    const name = `kindling_${stamp.version}_amd64.deb`;
    // gzip: xz saves a third and takes ten times as long; one thread and no owner of ours, so that equal files give equal bytes
    const options = ['--root-owner-group', '-Zgzip', '-z6', '--build', root, join(output, name)];
    await runTool('dpkg-deb', options, { env: { SOURCE_DATE_EPOCH: String(stamp.time) } });
    return name;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function packageContents(stamp: BuildStamp): Promise<Contents> {
  const program = await loadWholeProgram();
  const contents: Contents = new Map();
  for (const unit of UNITS)
    contents.set(`lib/systemd/system/${unit}.service`, await readFile(join(HERE, `${unit}.service`)));
  contents.set('etc/kindling/kindling.yaml', configTemplate(find(program, 'serve'), 'kindling', SETTINGS));
  contents.set('etc/kindling/pxe.yaml', configTemplate(find(program, 'pxe'), 'kindling-pxe', {}));
  contents.set('etc/kindling/mirror.env', await readFile(join(HERE, 'mirror.env')));
  for (const [name, text] of manPages(program, stamp))
    contents.set(`usr/share/man/man1/${name}.gz`, compressed(text));
  contents.set('usr/share/bash-completion/completions/kindling', bashCompletion(program));
  contents.set('usr/share/zsh/vendor-completions/_kindling', zshCompletion(program));
  contents.set('usr/share/fish/vendor_completions.d/kindling.fish', fishCompletion(program));
  contents.set('usr/share/doc/kindling/copyright', await readFile(join(HERE, 'copyright')));
  contents.set('usr/share/doc/kindling/changelog.gz', compressed(changelog(stamp)));
  contents.set('usr/share/lintian/overrides/kindling', await readFile(join(HERE, 'lintian-overrides')));
  return contents;
}

async function writeControl(root: string, stamp: BuildStamp, contents: Contents): Promise<void> {
  const control = join(root, 'DEBIAN');
  const { size } = await stat(join(root, 'usr/bin/kindling'));
  const bytes = [...contents.values()].reduce((sum, { length }) => sum + length, size);
  await place(join(control, 'control'), controlFile(stamp.version, Math.ceil(bytes / 1024)), READABLE);
  const settings = [...contents.keys()].filter((path) => path.startsWith('etc/'));
  await place(join(control, 'conffiles'), settings.map((path) => `/${path}\n`).join(''), READABLE);
  await place(join(control, 'md5sums'), await md5sums(root), READABLE);
  for (const script of SCRIPTS)
    await place(join(control, script), await readFile(join(HERE, `${script}.sh`)), EXECUTABLE);
}

function controlFile(version: string, installedKib: number): string {
  return `Package: kindling
Version: ${version}
Architecture: amd64
Maintainer: ${MAINTAINER}
Installed-Size: ${installedKib}
Depends: adduser, init-system-helpers (>= 1.52)
Recommends: openssl, sbsigntool
Section: admin
Priority: optional
Description: turns bare metal into running edge nodes
 Kindling boots machines over the network or from a stick, writes an operating
 system to their disks, and follows each until it runs. This package has the
 orchestrator with its page, the server for network boot and the mirror for
 remote sites, all in one program without dependencies.
`;
}

/** dpkg asks for MD5; trust comes from the signed list of the release. */
async function md5sums(root: string): Promise<string> {
  const files = globSync('{usr,lib}/**/*', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
  return runTool('md5sum', files, { cwd: root });
}

function changelog({ version, commit, time }: BuildStamp): string {
  const when = new Date(time * 1000).toUTCString().replace('GMT', '+0000');
  return `kindling (${version}) unstable; urgency=medium\n\n  * Release ${version}, commit ${commit}.\n\n -- ${MAINTAINER}  ${when}\n`;
}

function find(program: Command, name: string): Command {
  const found = program.commands.find((command) => command.name() === name);
  if (!found) throw new Error(`there is no command ${name}`);
  return found;
}

function compressed(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}

async function place(file: string, content: string | Buffer, mode: number): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: EXECUTABLE });
  await writeFile(file, content);
  await chmod(file, mode);
}

async function setTimes(root: string, time: number): Promise<void> {
  for (const path of globSync('**/*', { cwd: root })) await utimes(join(root, path), time, time);
}
