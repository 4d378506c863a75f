import {
  copyFileSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, expect, it } from 'vitest';
import { makeDiskImage } from '../../../lab/target-images/disk-image.ts';
import { publishable, targetImageIn } from '../../../lab/target-images/image-file.ts';
import { systemdBootFile } from '../../../lab/target-images/unified-kernel.ts';
import { fillRoot } from '../../../lab/target-images/unpacked-root.ts';
import { ensureVendorKey, signAsVendor } from '../../../lab/target-images/vendor.ts';

const work = mkdtempSync(join(tmpdir(), 'kindling-target-'));
afterAll(() => rmSync(work, { recursive: true }));

it('a target image is the same bytes every time, its signature and its manifest too', async () => {
  const build = async (name: string) => {
    const folder = join(work, name);
    const root = join(folder, 'root');
    mkdirSync(root, { recursive: true });
    symlinkSync('/proc/self/fd', join(root, 'fd')); // as every root has one: what it leads to comes and goes
    lutimesSync(join(root, 'fd'), 1, 1);
    await fillRoot(root, { 'etc/hostname': 'edge\n', 'boot/efi/': '' });
    const vendor = await ensureVendorKey();
    const loader = join(folder, 'loader.efi');
    copyFileSync(await systemdBootFile('systemd-bootx64.efi'), loader);
    await signAsVendor(loader, vendor);
    await execa('sbverify', ['--cert', vendor.certificate, loader]);
    expect(readFileSync(loader).includes('250615150640Z')).toBe(true); // the time in the signature
    const files = { '/EFI/BOOT/BOOTX64.EFI': loader };
    const uuid = '6b696e64-6c69-4e67-a000-0000000000ff';
    await makeDiskImage(join(folder, 'disk.raw'), [
      { number: 1, label: 'esp', type: 'esp', mib: 40, content: { kind: 'fat', files } },
      {
        number: 2,
        label: 'rootfs',
        type: 'root',
        mib: 16,
        content: { kind: 'ext4', label: 'rootfs', uuid, folder: root },
      },
    ]);
    await publishable(folder, () => {});
    const { sha256, manifest, raw } = await targetImageIn(folder);
    return { sha256, manifest: readFileSync(manifest, 'utf8'), raw: readFileSync(raw) };
  };
  const first = await build('first');
  await delay(2100); // FAT counts in steps of two seconds
  const second = await build('second');
  expect(second.raw.equals(first.raw)).toBe(true);
  expect(second.sha256).toBe(first.sha256);
  expect(second.manifest).toBe(first.manifest);
});
