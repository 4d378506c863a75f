import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type CpioEntry, encodeCpio } from '../../formats/cpio.ts';
import { runTool } from '../../initrd/build-tool.ts';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';

const MODULES = [
  'drivers/md/dm-mod.ko',
  'drivers/md/dm-bufio.ko',
  'drivers/md/dm-verity.ko',
  'lib/reed_solomon/reed_solomon.ko',
  'fs/overlayfs/overlay.ko',
];
const DIRECTORIES = [
  'bin',
  'dev',
  'lib',
  'lib/modules',
  'lib64',
  'proc',
  'roothash',
  'run',
  'sbin',
  'sys',
  'sysroot',
];

/** The initramfs of the immutable target: busybox, dmsetup with its libraries, five modules and our script. */
export async function immutableInitramfs(root: string): Promise<Buffer> {
  const [version = ''] = await readdir(join(root, 'usr/lib/modules'));
  const modules = join(root, 'usr/lib/modules', version, 'kernel');
  const [busybox] = await resolvePackages(['busybox-static']);
  if (!busybox) throw new Error('resolvePackages gives what it is asked for');
  const files: [path: string, source: string][] = [
    ['init', join(import.meta.dirname, 'immutable-init.sh')],
    ['bin/busybox', join(await unpackPackage(busybox), 'bin/busybox')],
    ['sbin/dmsetup', join(root, 'usr/sbin/dmsetup')],
    ...(await librariesOf(root, '/usr/sbin/dmsetup')),
    ...MODULES.map((path): [string, string] => [`lib/modules/${basename(path)}`, join(modules, path)]),
  ];
  const entries: CpioEntry[] = DIRECTORIES.map((path) => ({ path, mode: 0o755, type: 'directory' }));
  for (const [path, source] of files)
    entries.push({ path, mode: 0o755, type: 'file', contents: await readFile(source) });
  return gzipSync(encodeCpio(entries), { level: 9 });
}

/** What the dynamic loader would load, asked from inside the root: "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)". */
async function librariesOf(root: string, program: string): Promise<[path: string, source: string][]> {
  const text = await runTool('chroot', [root, 'ldd', program]);
  return [...text.matchAll(/(\/lib\S+)/g)].map(([, path = '']) => [
    path.startsWith('/lib64/') ? path.slice(1) : `lib/${basename(path)}`,
    join(root, path),
  ]);
}
