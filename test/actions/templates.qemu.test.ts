import { createReadStream } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureMicroOs } from '../../initrd/index.ts';
import { bootMachine, type Machine } from '../../lab/qemu/machine.ts';
import type { KernelSpec } from '../../lab/qemu/machine-spec.ts';
import { microOsKernel } from '../../lab/qemu/micro-os.ts';
import { MicroOsShell } from './micro-os-shell.ts';
import { numbersAndLabels, partitionsOn } from './partitions-on.ts';
import { buildTestImage, type TestImage } from './test-image.ts';

let images: Record<'mutable' | 'immutable', TestImage>;
let server: Server;
let kernel: KernelSpec;
let machine: Machine;
let shell: MicroOsShell;
let url: string;

beforeAll(async () => {
  const { kernel: loader } = await ensureMicroOs('minimal');
  images = {
    mutable: await buildTestImage({ loader, loaderPath: 'EFI/BOOT/BOOTX64.EFI' }),
    immutable: await buildTestImage({ loader, loaderPath: 'EFI/BOOT/BOOTX64.EFI', persistent: true }),
  };
  server = createServer((request, response) => {
    createReadStream(request.url === '/immutable' ? images.immutable.raw : images.mutable.raw).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://10.0.2.2:${(server.address() as { port: number }).port}`;
  kernel = await microOsKernel({ cmdline: 'kindling.debug' });
  machine = await bootMachine({
    name: 'both templates',
    firmware: 'ovmf',
    memoryMb: 640,
    disks: [
      { bus: 'nvme', size: '33G', serial: 'IMMUTABLE' },
      { bus: 'virtio', size: '6G', serial: 'MUTABLE' },
    ],
    nics: [{ model: 'virtio' }],
    kernel,
  });
  shell = new MicroOsShell(machine);
  await shell.ready();
});
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  server?.close();
  for (const image of Object.values(images ?? {})) await image[Symbol.asyncDispose]();
});

const done = async (name: string, variables: Record<string, string> = {}) => {
  const answer = await shell.action(name, variables, 180_000);
  expect({ name, ...answer }).toMatchObject({ name, exitCode: 0 });
  return answer.output;
};

describe('the actions of the microvisor template', () => {
  it('from the Secure Boot check to the boot order', async () => {
    await done('securebootflag', { SECURITY_FEATURE_FLAG: 'SECURITY_FEATURE_NONE' });
    await done('erase_non_removable_disks');
    await done('image2disk', { IMG_URL: `${url}/immutable`, KINDLING_DISK: 'serial=IMMUTABLE' });
    await done('writefile', {
      FS_TYPE: 'ext4',
      DEST_PATH: '/etc/cloud/cloud.cfg.d/99_infra.cfg',
      CONTENTS: '#cloud-config\n',
      UID: '0',
      GID: '0',
      MODE: '0755',
      DIRMODE: '0755',
    });
    const refused = await shell.action('fde_dmv', { LVM_SIZE: '', ENABLE_ONLY_DMVERITY: 'false' });
    expect(refused).toMatchObject({
      exitCode: 2,
      output: expect.stringContaining('KND_ESCROW_NONE'),
    });
    await done('fde_dmv', { LVM_SIZE: '', ENABLE_ONLY_DMVERITY: 'true' });
    await done('efibootset');
  });

  it('once more, as after a kill: the seal is made again, nothing is lost', async () => {
    const disk = { KINDLING_DISK: 'serial=IMMUTABLE' };
    const seal = () => done('fde_dmv', { ...disk, ENABLE_ONLY_DMVERITY: 'true' });
    expect(await seal()).toContain('the root is sealed');
    const userData = '#cloud-config\nhostname: a\n';
    expect(await done('cloud-init', { ...disk, USER_DATA: userData })).toContain('immutable');
    await seal();
  });
});

/** Starts an action and kills it as soon as the kernel shows a partition that it makes: the table is there, nothing on it yet. */
const killOnceThereIs = async (device: string, name: string, variables: Record<string, string> = {}) => {
  const settings = Object.entries(variables).map(([key, value]) => ` --set ${key}=${value}`);
  const killed = await shell.run(
    `kindling-agent action ${name}${settings.join('')} >/dev/null 2>&1 & p=$!; until [ -e ${device} ]; do sleep 0.05; done; kill -9 $p; wait $p`,
  );
  expect(killed.exitCode).toBe(137);
};

describe('emt_partition', () => {
  it('killed in the middle, adds swap and a second root, and once more changes nothing', async () => {
    await done('image2disk', { IMG_URL: `${url}/immutable`, KINDLING_DISK: 'serial=MUTABLE' });
    await killOnceThereIs('/dev/vda4', 'emt_partition');
    const layout = /3 edge_persistent \d+ MiB, 4 swap 1024 MiB, 5 rootfs_b 3072 MiB/;
    const first = await done('emt_partition', { LVM_SIZE: '0' });
    expect(first).toMatch(layout);
    expect(await done('emt_partition')).toBe(first);
    const tooMuch = await shell.action('emt_partition', { LVM_SIZE: '5' });
    expect(tooMuch.output).toContain('KND_DISK_TOO_SMALL');
    expect(await done('cexec', { CHROOT: 'y', CMD_LINE: '/bin/cat /etc/fstab' })).toMatch(
      /^info: PARTUUID=\S+ none swap defaults 0 0$/m,
    );
  });
});

describe('the actions of the ubuntu template', () => {
  it('from the image to the boot order, kernelupgrd killed in the middle', async () => {
    await done('image2disk', { IMG_URL: `${url}/mutable`, KINDLING_DISK: 'serial=MUTABLE' });
    await done('cexec', {
      FS_TYPE: 'ext4',
      CHROOT: 'y',
      DEFAULT_INTERPRETER: '/bin/sh -c',
      CMD_LINE: 'echo configured > /etc/configured',
    });
    await killOnceThereIs('/dev/vda4', 'kernelupgrd', { ROOTFS_SIZE_GB: '1' });
    expect(
      await done('kernelupgrd', {
        LVM_SIZE: '',
        KERNEL_VERSION: '',
        SKIP_KERNEL_UPGRADE: 'false',
        ROOTFS_SIZE_GB: '1',
      }),
    ).toContain('split');
    expect(await done('kernelupgrd', { SKIP_KERNEL_UPGRADE: 'false' })).toContain('done already');
    expect(await done('cexec', { CHROOT: 'y', CMD_LINE: '/bin/cat /etc/fstab /etc/configured' })).toMatch(
      /data_persistent ext4[\s\S]*none swap[\s\S]*configured/,
    );
    await done('efibootset');
    // By hand there is no server to wait for: the machine restarts at once.
    machine.console.type('kindling-agent action reboot\n');
    await expect.poll(() => machine.events.map(({ name }) => name), { timeout: 180_000 }).toContain('RESET');
  });
});

describe('the disks afterwards', () => {
  it('are laid out as the templates say, and the seal verifies', async () => {
    await machine.powerCut();
    const [immutable, mutable] = machine.disks;
    const partitions = await partitionsOn(immutable);
    expect(numbersAndLabels(partitions)).toEqual([
      '1 esp',
      '2 rootfs',
      '3 edge_persistent',
      '4 hashmap_a',
      '5 hashmap_b',
      '6 rootfs_b',
      '7 roothash',
      '8 swap',
      '9 reserved',
    ]);
    expect(numbersAndLabels(await partitionsOn(mutable))).toEqual([
      '1 esp',
      '2 rootfs',
      '3 swap',
      '4 data_persistent',
    ]);

    const loop = async (number: number) => {
      const part = partitions.find((each) => each.number === number);
      const { stdout } = await execa('losetup', [
        '--find',
        '--show',
        '-o',
        String(part?.startBytes),
        '--sizelimit',
        String(part?.sizeBytes),
        immutable?.path ?? '',
      ]);
      return stdout;
    };
    const devices = [await loop(2), await loop(4), await loop(7), await loop(3)];
    try {
      const [root = '', hashes = '', roothash = '', persistent = ''] = devices;
      const { stdout: rootHash } = await execa('debugfs', ['-R', 'cat /part_a_roothash', roothash]);
      expect(rootHash).toMatch(/^[0-9a-f]{64}$/);
      expect(
        (await execa('veritysetup', ['verify', root, hashes, rootHash], { reject: false })).exitCode,
      ).toBe(0);
      expect((await execa('e2fsck', ['-fn', persistent], { reject: false })).exitCode).toBe(0);
    } finally {
      for (const device of devices) await execa('losetup', ['-d', device]);
    }
  });
});
