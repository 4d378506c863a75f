import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { createServer, type Server } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolvePackages, unpackPackage } from '../../../initrd/debian/packages.ts';
import { moduleFiles } from '../../../lab/qemu/extra-modules.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import type { KernelSpec } from '../../../lab/qemu/machine-spec.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { makeCertificate } from '../registry/test-certificate.ts';
import { testRegistry } from '../registry/test-registry.ts';

let kernel: KernelSpec;
let machine: Machine;
let shell: MicroOsShell;
let bcacheFiles: Server;
/** Kernel names by serial: the order of the buses is the kernel's business. */
const name: Record<string, string> = {};

/** What an earlier system had and the Micro-OS has no need for: the modules of its own kernel, and Debian's tool. */
async function serveBcache(): Promise<Server> {
  const [tools] = await resolvePackages(['bcache-tools']);
  if (!tools) throw new Error('resolvePackages gives what it is asked for');
  const [crc64 = '', bcache = ''] = await moduleFiles(['lib/crc64', 'drivers/md/bcache/bcache']);
  const files: Record<string, string> = {
    '/crc64.ko': crc64,
    '/bcache.ko': bcache,
    '/make-bcache': path.join(await unpackPackage(tools), 'usr/sbin/make-bcache'),
  };
  const server = createServer((request, response) => {
    createReadStream(files[request.url ?? ''] ?? '').pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** One full Micro-OS with disks that hold what earlier systems leave behind. */
beforeAll(async () => {
  bcacheFiles = await serveBcache();
  kernel = await microOsKernel({ profile: 'full', cmdline: 'kindling.debug' });
  machine = await bootMachine({
    name: 'leftovers',
    memoryMb: 1024,
    serialFirmware: true,
    disks: [
      { bus: 'nvme', size: '96M', serial: 'NVME1' },
      { bus: 'sata', size: '96M', serial: 'SATA1' },
      { bus: 'scsi', size: '96M', serial: 'SCSI1' },
      { bus: 'scsi', size: '96M', serial: 'SCSI2' },
      { bus: 'scsi', size: '96M', serial: 'CACHE' },
      { bus: 'scsi', size: '96M', serial: 'CACHED' },
      { bus: 'virtio', size: '160M', serial: 'VIRTIO1', bootIndex: 1 },
    ],
    nics: [{ model: 'virtio' }],
    kernel,
  });
  shell = new MicroOsShell(machine);
  await shell.ready();
  await learnNames();
});
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  bcacheFiles?.close();
});

async function learnNames() {
  const disks = JSON.parse((await shell.run('kindling-agent inventory --output json')).output).disks;
  for (const { serial, name: kernelName } of disks) name[serial] = kernelName;
}

async function done(command: string) {
  const answer = await shell.run(command, 180_000);
  expect({ command, ...answer }).toMatchObject({ command, exitCode: 0 });
  return answer.output;
}

const device = (serial: string) => `/dev/${name[serial]}`;
const NO_UDEV = `--config 'activation{udev_sync=0 udev_rules=0}'`;

/** /dev/bcache0 with a file system on it, unless it is there already. */
async function setUpBcache() {
  if ((await shell.run('[ -e /dev/bcache0 ]')).exitCode === 0) return;
  const url = `http://10.0.2.2:${(bcacheFiles.address() as { port: number }).port}`;
  await done(
    `(cd /tmp; for f in crc64.ko bcache.ko make-bcache; do wget -q -O $f ${url}/$f; done; insmod crc64.ko; insmod bcache.ko && chmod +x make-bcache)`,
  );
  const disks = `${device('CACHE')} ${device('CACHED')}`;
  // Buckets of 64 KiB: the kernel wants more than 512 of them.
  await done(
    `wipefs -qa ${disks}; /tmp/make-bcache -b 64k -C ${device('CACHE')} -B ${device('CACHED')} && for d in ${disks}; do echo $d > /sys/fs/bcache/register; done; until [ -e /dev/bcache0 ]; do sleep 0.2; done; echo writeback > /sys/block/bcache0/bcache/cache_mode && mke2fs -q /dev/bcache0`,
  );
}

describe('an erase where earlier systems left LVM, RAID, LUKS and bcache', () => {
  it('a bcache in use is refused, and goes on working', async () => {
    await setUpBcache();
    await done('mkdir /tmp/cached && mount -t ext4 /dev/bcache0 /tmp/cached');
    const refused = await shell.action('erase_non_removable_disks', {
      ERASE_ONLY: 'serial=CACHE',
      ERASE_METHOD: 'quick',
    });
    expect(refused.output).toMatch(/leaves alone \/dev\/bcache0: it is a bcache device/);
    expect(refused.output).toMatch(/KND_DISK_BUSY[\s\S]*\/dev\/bcache0 on \/tmp\/cached/);
    await done('echo there > /tmp/cached/file && sync && umount /tmp/cached');
  });

  it('takes them down, clears them, and finds nothing when it is run again', async () => {
    await setUpBcache();
    // LVM with a mounted-once volume, on a whole disk.
    await done(
      `export DM_DISABLE_UDEV=1; lvm pvcreate -y ${device('SATA1')} && lvm vgcreate old ${device('SATA1')} && lvm lvcreate ${NO_UDEV} -y -Wn -Zn -n data -L 32M old && mke2fs -q /dev/old/data`,
    );
    // A RAID 1 over two disks (superblock at the end), with swap in use on it.
    await done(
      `modprobe raid1; mdadm --create /dev/md0 --run --metadata=1.0 --level=1 --raid-devices=2 ${device('SCSI1')} ${device('SCSI2')} && mkswap /dev/md0 && swapon /dev/md0`,
    );
    // LUKS, open, with a file system inside.
    await done(
      `export DM_DISABLE_UDEV=1; printf k > /tmp/k; cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/k ${device('VIRTIO1')} && cryptsetup open --key-file /tmp/k ${device('VIRTIO1')} secret && mke2fs -q /dev/mapper/secret`,
    );
    // A label of what this kernel does not even have: ZFS (first uberblock).
    await done(
      `printf '\\014\\261\\272\\000\\000\\000\\000\\000' | dd of=${device('NVME1')} bs=1 seek=135168 conv=notrunc 2>/dev/null; sync`,
    );

    const erased = await shell.action('erase_non_removable_disks', { ERASE_METHOD: 'quick' }, 240_000);
    expect(erased).toMatchObject({ exitCode: 0 });
    expect(erased.output).toMatch(/taking down md0/);
    // The plan first: what is taken down is part of what will be lost.
    expect(erased.output).toMatch(/^plan [\s\S]*destroys everything on [\s\S]*taking down/);
    expect(erased.output).toMatch(/taking down bcache0/);
    expect(await done('ls /sys/block /sys/fs/bcache')).not.toMatch(/bcache0|[0-9a-f]{8}-/);
    expect(await done('dmsetup ls; ls /dev/mapper; cat /proc/mdstat /proc/swaps')).not.toMatch(
      /secret|old-data|md0/,
    );
    for (const serial of ['NVME1', 'SATA1', 'SCSI1', 'SCSI2', 'CACHE', 'CACHED', 'VIRTIO1']) {
      const { output } = await shell.run(`blkid -p ${device(serial)}; wipefs ${device(serial)}`);
      expect({ serial, output: output.trim() }).toEqual({ serial, output: '' });
    }
    expect(await done('lvm pvs; mdadm --examine --scan; true')).not.toMatch(/old|ARRAY/);

    const again = await shell.action('erase_non_removable_disks', { ERASE_METHOD: 'quick' }, 240_000);
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.output).not.toMatch(/taking down/);
  });

  it('formats an NVMe disk with a secure erase, killed before the check or not, and proves it', async () => {
    await done(`dd if=/dev/urandom of=${device('NVME1')} bs=1M count=96 2>/dev/null; sync`);
    const variables = { ERASE_ONLY: 'bus=nvme', ERASE_METHOD: 'nvme-format' };
    const killed = await shell.killedIn('blockdev', '', 'erase_non_removable_disks', variables);
    expect(killed).toMatchObject({ exitCode: 137 });
    const erased = await shell.action('erase_non_removable_disks', variables);
    expect(erased).toMatchObject({ exitCode: 0, output: expect.stringMatching(/nvme-format/) });
    // QEMU's model erases by SES 1; every byte we can reach is another one.
    expect(await done(`dd if=${device('NVME1')} bs=1M 2>/dev/null | tr -d '\\000' | wc -c`)).toMatch(
      /^0\s*$/,
    );
  });

  it.each([
    ['bus=nvme', 'nvme-sanitize', 'does not support Sanitize'],
    ['serial=SATA1', 'ata-secure-erase', 'does not support the ATA security feature set'],
  ])('%s by %s is refused, because it %s', async (ERASE_ONLY, ERASE_METHOD, why) => {
    const refused = await shell.action('erase_non_removable_disks', { ERASE_ONLY, ERASE_METHOD });
    expect(refused).toMatchObject({ exitCode: 4, output: expect.stringContaining(why) });
  });
});

describe('rootio, syslinux and a foreign image', () => {
  const metadata = (partitions: object[], more: object = {}) =>
    JSON.stringify({
      metadata: {
        instance: { storage: { disks: [{ device: device('VIRTIO1'), partitions }], ...more } },
      },
    });
  const put = (text: string) =>
    done(`echo ${Buffer.from(text).toString('base64')} | base64 -d > /tmp/metadata`);

  it('rootio makes partitions and logical volumes, twice', async () => {
    const partition = `${device('VIRTIO1')}2`;
    await put(
      metadata(
        [
          { label: 'EFI', number: 1, size: 20480 },
          { label: 'LVM', number: 2, size: 0 },
        ],
        {
          volume_groups: [
            {
              name: 'vg0',
              physical_volumes: [partition],
              logical_volumes: [
                { name: 'small', size: 8388608 },
                { name: 'rest', size: 0 },
              ],
            },
          ],
          filesystems: [{ mount: { device: '/dev/vg0/rest', format: 'ext4', point: '/' } }],
        },
      ),
    );
    for (const _ of [1, 2])
      await done('kindling-agent action rootio --set JSON_FILE=/tmp/metadata partition');
    await done('kindling-agent action rootio --set JSON_FILE=/tmp/metadata format');
    expect(await done('lvm lvs --noheadings --units b -o lv_name,lv_size')).toMatch(
      /rest\s+\d+B[\s\S]*small\s+8388608B/,
    );
    expect(await done('blkid -p -o value -s TYPE /dev/vg0/rest')).toContain('ext4');
  });

  it('syslinux, killed in the middle, makes a BIOS start what is on the disk, and again', async () => {
    await put(metadata([{ label: 'FAT32', number: 1, size: 0 }]));
    await done('kindling-agent action rootio --set MBR=y --set JSON_FILE=/tmp/metadata partition');
    const partition = `${device('VIRTIO1')}1`;
    await done(
      `mkfs.vfat ${partition} >/dev/null && mkdir -p /tmp/f && mount -t vfat ${partition} /tmp/f && printf 'prompt 1\\n' > /tmp/f/syslinux.cfg && umount /tmp/f`,
    );
    const variables = { DEST_DISK: device('VIRTIO1'), DEST_PARTITION: partition, SYSLINUX_VERSION: '386' };
    // Killed when the loader is there and the code in the first sector is not: a BIOS finds nothing to start.
    const killed = await shell.killedIn('extlinux', '/usr/bin/extlinux "$@"', 'syslinux', variables);
    expect(killed).toMatchObject({ exitCode: 137 });
    expect(await done(`head -c 440 ${device('VIRTIO1')} | tr -d '\\000' | wc -c`)).toMatch(/^0\s*$/);
    for (const _ of [1, 2]) expect(await shell.action('syslinux', variables)).toMatchObject({ exitCode: 0 });
    expect(await done('cat /proc/mounts; ls /run/kindling/actions')).not.toMatch(/vda|vdb|ledger/);
    const elsewhere = await shell.action('syslinux', { ...variables, DEST_PARTITION: '/dev/sdz1' });
    expect(elsewhere.output).toContain('KND_DISK_NOT_FOUND');
  });

  it('an image from a registry of the site runs as an action', async () => {
    const { key, cert } = await makeCertificate('10.0.2.2');
    const layer = execFileSync(
      'sh',
      [
        '-c',
        'd=$(mktemp -d) && mkdir -p $d/bin && cp /bin/busybox $d/bin/ && ln -s busybox $d/bin/sh && tar -C $d -czf - . && rm -r $d',
      ],
      { maxBuffer: 64 << 20 },
    );
    using registry = await testRegistry({
      layers: [layer],
      config: { Entrypoint: ['/bin/sh', '-c'], Cmd: ['echo "hello from $WHO"'] },
      tls: { key, cert, address: '10.0.2.2' },
    });
    await done(`echo ${Buffer.from(cert).toString('base64')} | base64 -d > /tmp/ca.pem`);
    const ran = await shell.run(
      `KINDLING_CA_FILE=/tmp/ca.pem kindling-agent action ${registry.image} --set WHO=a-container`,
      180_000,
    );
    expect(ran).toMatchObject({ exitCode: 0, output: expect.stringContaining('hello from a-container') });
    expect(await done('crun list -q; ls /tmp')).not.toContain('kindling-container');
  });

  it('the BIOS does start it', async () => {
    await machine.powerCut();
    await machine.powerOn({ kernel: undefined });
    await machine.console.waitFor(/^SYSLINUX 6\.04/, { timeoutMs: 120_000 });
  });
});
