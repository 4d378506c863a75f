import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeImage } from '../../../actions/image-writer/index.ts';
import { indexImage } from '../../../images/index-image.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import { type ImageServer, startImageServer } from './image-server.ts';
import { encodeImage, makeDiskImage } from './test-image.ts';

const MIB = 1024 * 1024;
const RAW = makeDiskImage(16 * MIB, 31);
const RAW_4K = makeDiskImage(16 * MIB, 32, 4096);

let folder: string;
let server: ImageServer;
const devices: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kindling-refusals-'));
  server = await startImageServer({
    '/512.zst': { bytes: encodeImage(RAW, 'zst') },
    '/4096.zst': { bytes: encodeImage(RAW_4K, 'zst') },
  });
  const raw = join(folder, 'disk.raw');
  writeFileSync(raw, RAW);
  const { manifest } = await indexImage(raw, `${raw}.zst`, { chunkSize: MIB, level: 1 });
  server.files.set('/chunked.zst', { bytes: readFileSync(`${raw}.zst`) });
  server.files.set('/chunked.zst.manifest', { bytes: Buffer.from(manifest) });
});
afterAll(async () => {
  for (const device of devices) execFileSync('losetup', ['-d', device]);
  await server.close();
  rmSync(folder, { recursive: true });
});

/** A disk with sectors of this size, full of old data. */
function attach(name: string, sectorSize: number, bytes = RAW.length): string {
  const file = join(folder, name);
  writeFileSync(file, Buffer.alloc(bytes, 0xaa));
  const args = ['--find', '--show', '--sector-size', String(sectorSize), file];
  const device = execFileSync('losetup', args, { encoding: 'utf8' }).trim();
  devices.push(device);
  return device;
}

const tryTo = (path: string, target: string) =>
  writeImage({ sources: [`${server.url}${path}`], target, retry: { windowMs: 500 } }).then(
    () => undefined,
    (error: KindlingError) => error,
  );

const contentOf = (device: string) => {
  execFileSync('blockdev', ['--flushbufs', device]);
  return readFileSync(device);
};
const isUntouched = (device: string) => contentOf(device).every((byte) => byte === 0xaa);

describe('a disk with 4096-byte sectors', () => {
  test.each(['/512.zst', '/chunked.zst'])('refuses %s, made for 512, untouched', async (path) => {
    const device = attach(`4k${path.slice(1)}`, 4096);
    const error = await tryTo(path, device);
    expect(error?.code).toBe('KND_IMAGE_SECTOR_SIZE');
    expect(error?.message).toContain('512-byte sectors');
    expect(isUntouched(device)).toBe(true);
  });

  test('takes an image made for it, and its backup table moves to the end', async () => {
    const device = attach('native', 4096, RAW_4K.length + 4 * MIB);
    expect(await tryTo('/4096.zst', device)).toBeUndefined();
    const found = contentOf(device);
    expect(found.subarray(MIB, RAW_4K.length).equals(RAW_4K.subarray(MIB))).toBe(true);
    expect(found.toString('latin1', found.length - 4096, found.length - 4088)).toBe('EFI PART');
  });
});

test('a disk with 512-byte sectors refuses an image made for 4096, untouched', async () => {
  const device = attach('legacy', 512);
  expect((await tryTo('/4096.zst', device))?.code).toBe('KND_IMAGE_SECTOR_SIZE');
  expect(isUntouched(device)).toBe(true);
});

describe('an MBR, which does not say for which sectors it was made', () => {
  /** One partition at 1 MiB with a file system in it, the table made for sectors of this size. */
  function makeMbrImage(
    name: string,
    sectorSize: number,
    mkfs: (file: string) => [string, string[]],
  ): Buffer {
    const file = join(folder, name);
    writeFileSync(file, '');
    truncateSync(file, RAW.length);
    execFileSync(...mkfs(file), { stdio: 'ignore' });
    const image = readFileSync(file);
    image.writeUInt16LE(0xaa55, 510);
    image[446 + 4] = 0x83;
    image.writeUInt32LE(MIB / sectorSize, 446 + 8);
    image.writeUInt32LE((RAW.length - MIB) / sectorSize, 446 + 12);
    writeFileSync(file, image);
    return image;
  }
  const ext4 = (file: string): [string, string[]] => [
    'mke2fs',
    ['-q', '-F', '-t', 'ext4', '-E', `offset=${MIB}`, file, '15m'],
  ];
  const vfat = (file: string): [string, string[]] => ['mkfs.vfat', ['--offset=2048', file]];

  test.each([
    { kind: 'ext4', mkfs: ext4, made: 512, disk: 4096 },
    { kind: 'ext4', mkfs: ext4, made: 4096, disk: 512 },
    { kind: 'vfat', mkfs: vfat, made: 512, disk: 4096 },
  ])('with $kind at the place for $made is refused by a disk with $disk, untouched', async (mbr) => {
    const name = `mbr-${mbr.kind}-${mbr.made}`;
    const image = makeMbrImage(name, mbr.made, mbr.mkfs);
    server.files.set(`/${name}.gz`, { bytes: encodeImage(image, 'gz') });
    server.files.set(`/${name}.qcow2`, { bytes: encodeImage(image, 'qcow2') });
    const { manifest } = await indexImage(join(folder, name), join(folder, `${name}.zst`), { level: 1 });
    server.files.set(`/${name}.zst`, { bytes: readFileSync(join(folder, `${name}.zst`)) });
    server.files.set(`/${name}.zst.manifest`, { bytes: Buffer.from(manifest) });
    const wrong = attach(`${name}-wrong`, mbr.disk);
    for (const ending of ['gz', 'qcow2', 'zst']) {
      const error = await tryTo(`/${name}.${ending}`, wrong);
      expect(error?.code, ending).toBe('KND_IMAGE_SECTOR_SIZE');
      expect(error?.message).toContain(`made for ${mbr.made}-byte sectors`);
      expect(isUntouched(wrong)).toBe(true);
    }
    const right = attach(`${name}-right`, mbr.made);
    expect(await tryTo(`/${name}.gz`, right)).toBeUndefined();
    expect(contentOf(right).equals(image)).toBe(true);
  });

  test('with nothing known in its partitions is written', async () => {
    const image = makeMbrImage('mbr-nothing', 512, () => ['true', []]);
    server.files.set('/mbr-nothing.gz', { bytes: encodeImage(image, 'gz') });
    const device = attach('mbr-nothing-disk', 4096);
    expect(await tryTo('/mbr-nothing.gz', device)).toBeUndefined();
  });
});

describe('a disk in use', () => {
  test('is refused while it is mounted, and its files stay', async () => {
    const device = attach('mounted', 512);
    execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', device]);
    const mountpoint = join(folder, 'mnt');
    mkdirSync(mountpoint, { recursive: true });
    execFileSync('mount', [device, mountpoint]);
    try {
      writeFileSync(join(mountpoint, 'precious'), 'data');
      const error = await tryTo('/512.zst', device);
      expect(error?.code).toBe('KND_DISK_BUSY');
      expect(readFileSync(join(mountpoint, 'precious'), 'utf8')).toBe('data');
    } finally {
      execFileSync('umount', [mountpoint]);
    }
  });

  test('is refused while swap lies on it', async () => {
    const device = attach('swap', 512);
    execFileSync('mkswap', [device], { stdio: 'ignore' });
    execFileSync('swapon', [device]);
    try {
      expect((await tryTo('/512.zst', device))?.code).toBe('KND_DISK_BUSY');
    } finally {
      execFileSync('swapoff', [device]);
    }
  });
});

test('a write-protected disk is refused', async () => {
  const file = join(folder, 'locked');
  writeFileSync(file, '');
  truncateSync(file, RAW.length);
  const device = execFileSync('losetup', ['--find', '--show', '--read-only', file], {
    encoding: 'utf8',
  }).trim();
  devices.push(device);
  expect((await tryTo('/512.zst', device))?.code).toBe('KND_DISK_UNUSABLE');
});
