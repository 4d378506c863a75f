import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { cached, hashOfFile } from '../../initrd/build-cache.ts';
import { runTool } from '../../initrd/build-tool.ts';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import { addSections } from '../../initrd/micro-os/uki.ts';
import { step } from '../../setup/step.ts';
import { EPOCH_SECONDS, ensureDebianRoot } from './debian-root.ts';
import { makeDiskImage } from './disk-image.ts';

export interface TargetImage {
  /** The raw disk image. */
  raw: string;
  /** The same, compressed: what a workflow downloads. */
  zst: string;
  /** SHA-256 of the compressed file, as workflows state it. */
  sha256: string;
  rootUuid: string;
}

const ROOT_UUID = '6b696e64-6c69-4e67-a000-000000000001';
const KERNEL_COMMAND_LINE = `root=UUID=${ROOT_UUID} ro console=tty0 console=ttyS0 net.ifnames=0 mitigations=off apparmor=0 audit=0`;
const ESP_MIB = 48;
const ROOT_MIB = 480;
const OUR_SOURCES = ['debian-root.ts', 'disk-image.ts', 'mutable.ts'];

/** A mutable Debian (systemd, real cloud-init, ext4 «rootfs») as a disk image that boots under UEFI. Cached. */
export async function ensureMutableTarget(): Promise<TargetImage> {
  const rootTar = await ensureDebianRoot();
  const sources = await Promise.all(OUR_SOURCES.map((name) => hashOfFile(join(import.meta.dirname, name))));
  const folder = await cached('target-mutable', { rootTar, sources }, (target) =>
    step('target image «mutable Debian»', (say) => build(target, rootTar, say)),
  );
  return {
    raw: join(folder, 'disk.raw'),
    zst: join(folder, 'disk.raw.zst'),
    sha256: (await readFile(join(folder, 'sha256'), 'utf8')).trim(),
    rootUuid: ROOT_UUID,
  };
}

async function build(target: string, rootTar: string, say: (progress: string) => void): Promise<void> {
  const root = join(target, 'root');
  await mkdir(root);
  say('unpacking');
  await runTool('tar', ['-x', '-f', rootTar, '-C', root, '--numeric-owner', '--xattrs']);
  await writeFile(join(root, 'etc/fstab'), `UUID=${ROOT_UUID} / ext4 errors=remount-ro,noatime 0 1\n`);
  await utimes(join(root, 'etc/fstab'), EPOCH_SECONDS, EPOCH_SECONDS);
  await utimes(join(root, 'etc'), EPOCH_SECONDS, EPOCH_SECONDS);

  say('kernel image');
  const uki = join(target, 'linux.efi');
  await writeFile(uki, await unifiedKernel(root));
  await utimes(uki, EPOCH_SECONDS, EPOCH_SECONDS);

  say('file systems');
  const raw = join(target, 'disk.raw');
  await makeDiskImage(raw, {
    root,
    rootUuid: ROOT_UUID,
    espFiles: { '/EFI/BOOT/BOOTX64.EFI': uki },
    espMib: ESP_MIB,
    rootMib: ROOT_MIB,
  });
  await rm(root, { recursive: true });
  await rm(uki);

  say('compressing');
  await runTool('zstd', ['-q', '-9', '-T0', raw, '-o', `${raw}.zst`]);
  const hash = createHash('sha256');
  await pipeline(createReadStream(`${raw}.zst`), hash);
  await writeFile(join(target, 'sha256'), hash.digest('hex'));
}

async function unifiedKernel(root: string): Promise<Buffer> {
  const [stubPackage] = await resolvePackages(['systemd-boot-efi']);
  if (!stubPackage) throw new Error('resolvePackages gives what it is asked for');
  const stub = join(await unpackPackage(stubPackage), 'usr/lib/systemd/boot/efi/linuxx64.efi.stub');
  return addSections(await readFile(stub), [
    { name: '.osrel', contents: await readFile(join(root, 'usr/lib/os-release')) },
    { name: '.cmdline', contents: Buffer.from(KERNEL_COMMAND_LINE) },
    { name: '.linux', contents: await readFile(join(root, 'boot/vmlinuz')) },
    { name: '.initrd', contents: await readFile(join(root, 'boot/initrd.img')) },
  ]);
}
