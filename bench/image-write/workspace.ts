import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../agent/system/wait.ts';
import { indexImage } from '../../orchestrator-stub/images/index-image.ts';
import { KindlingError } from '../../protocol/error.ts';

const MIB = 1024 * 1024;

/** Programs of the peers, and the Debian packages that have them. */
const PROGRAMS: Record<string, string> = {
  bmaptool: 'bmap-tools',
  bzip2: 'bzip2',
  curl: 'curl',
  lbzip2: 'lbzip2',
  losetup: 'mount',
  mke2fs: 'e2fsprogs',
  nbdcopy: 'libnbd-bin',
  nbdkit: 'nbdkit',
  nginx: 'nginx-light',
  pigz: 'pigz',
  'qemu-img': 'qemu-utils',
  sgdisk: 'gdisk',
  wget: 'wget',
  xz: 'xz-utils',
  zstd: 'zstd',
};

/** The place of one benchmark: images in memory, an HTTP server that is no bottleneck, loop devices as disks. */
export interface Workspace {
  folder: string;
  url: string;
  /** The big image (zst, gz, qcow2, raw, chunked) and the small one (xz, bz2), in bytes. */
  sizes: { big: number; small: number };
  /** A loop device over a file in memory, made new (all zeros, nothing allocated) or filled with old data. */
  freshTarget: (bytes: number) => string;
  close: () => Promise<void>;
}

export function checkPrograms(): void {
  const missing = Object.entries(PROGRAMS).filter(([program]) => !isInstalled(program));
  const isCurlBlockMissing = !existsSync('/usr/lib/x86_64-linux-gnu/qemu/block-curl.so');
  const packages = [...missing.map(([, name]) => name), ...(isCurlBlockMissing ? ['qemu-block-extra'] : [])];
  if (packages.length === 0) return;
  throw new KindlingError(
    'KND_TOOL_MISSING',
    `this benchmark compares with programs that are not installed`,
    {
      hint: `apt-get install --no-install-recommends ${packages.join(' ')}`,
    },
  );
}

function isInstalled(program: string): boolean {
  return `${process.env['PATH']}:/usr/sbin:/sbin`
    .split(':')
    .some((folder) => existsSync(join(folder, program)));
}

/** Makes images, starts nginx. Everything lies in /dev/shm so that no real disk blurs the figures. */
export async function openWorkspace(bigBytes: number, say: (text: string) => void): Promise<Workspace> {
  const folder = mkdtempSync('/dev/shm/kindling-bench-');
  const sizes = { big: bigBytes, small: Math.max(256 * MIB, bigBytes / 8) };
  say('makes the images');
  makeDisk(join(folder, 'disk.raw'), sizes.big);
  makeDisk(join(folder, 'small.raw'), sizes.small);
  sh(folder, 'zstd -q -3 --single-thread disk.raw -o disk.raw.zst');
  sh(folder, 'pigz -k -6 disk.raw');
  sh(folder, 'qemu-img convert -O qcow2 disk.raw disk.qcow2');
  sh(folder, 'bmaptool create disk.raw -o disk.bmap');
  sh(folder, 'xz -k -1 -T2 small.raw && lbzip2 -k small.raw');
  const { manifest } = await indexImage(join(folder, 'disk.raw'), join(folder, 'chunked.zst'), { level: 3 });
  writeFileSync(join(folder, 'chunked.zst.manifest'), manifest);
  const { url, stop } = await startNginx(folder);
  let loop: string | undefined;
  const detach = () => {
    if (loop) execFileSync('losetup', ['-d', loop]);
    loop = undefined;
  };
  return {
    folder,
    url,
    sizes,
    freshTarget: (bytes) => {
      detach();
      const file = join(folder, 'target.img');
      rmSync(file, { force: true });
      writeFileSync(file, '');
      truncateSync(file, bytes);
      loop = execFileSync('losetup', ['-f', '--show', file], { encoding: 'utf8' }).trim();
      return loop;
    },
    close: async () => {
      detach();
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** GPT and one ext4 partition, a third full of real files: programs, libraries, documents. */
function makeDisk(path: string, bytes: number): void {
  const source = `${path}.files`;
  mkdirSync(source);
  let left = bytes * 0.35;
  for (const folder of ['/usr/lib/x86_64-linux-gnu', '/usr/bin', '/usr/share'])
    left = copyFiles(folder, source, left);
  writeFileSync(path, '');
  truncateSync(path, bytes);
  execFileSync('sgdisk', ['-n', '1:2048:0', path], { stdio: 'ignore' });
  const kibibytes = (bytes - 2 * MIB) / 1024;
  execFileSync('mke2fs', ['-q', '-t', 'ext4', '-d', source, '-E', `offset=${MIB}`, path, `${kibibytes}k`]);
  rmSync(source, { recursive: true });
}

/** Copies plain files until so many bytes are used up; answers what is left. */
function copyFiles(from: string, to: string, bytes: number): number {
  let left = bytes;
  const prefix = from.replaceAll('/', '_');
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    if (left <= 0) return 0;
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    left -= statSync(path).size + 4096;
    copyFileSync(path, join(to, `${prefix}${path.slice(from.length).replaceAll('/', '_')}`.slice(-200)));
  }
  return left;
}

async function startNginx(folder: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const config = join(folder, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
events { worker_connections 256; }
http { access_log off; log_not_found off; keepalive_requests 1000000; sendfile on; tcp_nopush on; server { listen 127.0.0.1:${port}; root ${folder}; } }\n`,
  );
  // nginx gives up its rights; the folder has to let its worker in
  execFileSync('chmod', ['755', folder]);
  const child = spawn('nginx', ['-c', config], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(
    async () => ((await fetch(`${url}/disk.bmap`).catch(() => undefined))?.ok ? true : undefined),
    { name: 'nginx', timeoutMs: 10_000 },
  );
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill();
    await exited; // it removes its pid file, in a folder that is about to go
  };
  return { url, stop };
}

function sh(cwd: string, script: string): void {
  execFileSync('bash', ['-c', script], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
