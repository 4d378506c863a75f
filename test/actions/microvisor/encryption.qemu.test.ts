import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { extendPcr15 } from '../../../actions/ubuntu/unlock-files.ts';
import { EncryptionLab } from '../encryption/encryption-lab.ts';
import { numbersAndLabels, partitionsOn } from '../partitions-on.ts';
import { buildTestImage, type TestImage } from '../test-image.ts';

const BOOT_UUID = '11111111-2222-4333-8444-555555555555';
const DISK = { KINDLING_DISK: 'serial=SYSTEM1' };
/** Forty starts of cryptsetup on a machine without acceleration, perhaps beside another one. */
const LONG = 900_000;
const UNSEAL = 'tpm2-initramfs-tool unseal --pcrs 15 -T device:/dev/tpmrm0';

let folder: string;
let image: TestImage;
let lab: EncryptionLab;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-fde-'));
  const loader = path.join(folder, 'kernel.efi');
  await writeFile(loader, `${'\0'.repeat(100_000)}quiet boot_uuid=${BOOT_UUID} ro\0`);
  image = await buildTestImage({ loader, loaderPath: 'EFI/Linux/kernel.efi', persistent: true });
  lab = await EncryptionLab.start({
    name: 'full disk encryption',
    disks: [
      { bus: 'nvme', size: '34G', serial: 'SYSTEM1' },
      { bus: 'virtio', size: '128M', serial: 'DATA1' },
    ],
    download: image.raw,
    variables: DISK,
  });
});
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await image?.[Symbol.asyncDispose]();
  if (folder) await rm(folder, { recursive: true });
});

async function writeImage(): Promise<void> {
  lab.escrowStatus = 201;
  lab.escrowed.length = 0;
  await lab.action('image2disk', { IMG_URL: lab.url, ...DISK });
}

describe('full disk encryption', () => {
  it('is refused before anything is touched when nobody takes the recovery key', async () => {
    await writeImage();
    const none = await lab.encrypt({ KINDLING_ESCROW_URL: '' });
    expect(none.output).toContain('KND_ESCROW_NONE');
    lab.escrowStatus = 403;
    const refused = await lab.encrypt();
    expect(refused.output).toContain('KND_ESCROW_FAILED');
    expect(refused.output).not.toContain(lab.escrowed[0]?.recoveryKey);
    lab.escrowStatus = 201;
    lab.escrowed.length = 0;
    expect(await lab.run('ls /dev/nvme0n1p*')).not.toContain('nvme0n1p4');
  });

  it('is killed while it makes volumes, and then hit by a power cut in the middle of the root', {
    timeout: LONG,
  }, async () => {
    await lab.encryptUntil(/^encrypting rootfs_b_crypt/);
    await lab.run('kill -9 $p; sleep 1');
    await lab.encryptUntil(/^encrypting the root 16/);
    await lab.machine.powerCut();
  });

  it('after the power cut goes on where it was, with the same keys', { timeout: LONG }, async () => {
    await lab.restart();
    expect(await lab.encrypt()).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('is encrypted'),
    });
    expect(await lab.run('ls /dev/mapper')).not.toMatch(/crypt|emt|ver_/);
    expect(lab.escrowed).toHaveLength(3);
    expect(new Set(lab.escrowed.map(({ keyId }) => keyId)).size).toBe(1);
    expect(lab.escrowed[0]?.disk.serial).toBe('SYSTEM1');
  });

  it('defect 16: opens with the TPM after a reboot, and with the recovery key; the root hash is behind it', {
    timeout: LONG,
  }, async () => {
    await lab.restart();
    const open = (number: number, name: string) =>
      lab.run(`${UNSEAL} | DM_DISABLE_UDEV=1 cryptsetup open --key-file - /dev/nvme0n1p${number} ${name}`);
    await open(2, 'rootfs_crypt');
    await open(3, 'emt_persistent');
    await open(4, 'hashes');
    await open(7, 'roothash');
    await lab.run(
      'mkdir -p /tmp/r /tmp/s /tmp/h; mount -t ext4 -o ro /dev/mapper/rootfs_crypt /tmp/r; mount -t ext4 /dev/mapper/emt_persistent /tmp/s; mount -t ext4 /dev/mapper/roothash /tmp/h',
    );
    expect(await lab.run('cat /tmp/r/etc/fstab /tmp/r/etc/os-release')).toMatch(
      /swap_crypt none swap[\s\S]*ID=test/,
    );
    expect(await lab.run('df -Pm /tmp/s | tail -1')).toMatch(/emt_persistent\s+[1-9]\d{3}/);
    await lab.run(
      'umount /tmp/r; veritysetup verify /dev/mapper/rootfs_crypt /dev/mapper/hashes $(cat /tmp/h/part_a_roothash)',
    );
    expect(await lab.run('cryptsetup luksUUID /dev/nvme0n1p2')).toContain(BOOT_UUID);
    expect(await lab.run('cryptsetup luksDump /dev/nvme0n1p6')).toContain('kindling-escrow');
    const last = lab.escrowed.at(-1);
    for (const device of ['nvme0n1p2', 'nvme0n1p3', 'nvme0n1p6', 'nvme0n1p8', 'vda1']) {
      await lab.run(
        `printf %s '${last?.recoveryKey}' | cryptsetup open --test-passphrase --key-file - /dev/${device}`,
      );
    }
    const wrong = await lab.shell.run(
      `printf %s x | cryptsetup open --test-passphrase --key-file - /dev/nvme0n1p2`,
    );
    expect(wrong.exitCode).not.toBe(0);
  });

  it('the TPM keeps the key once the booted system has filled PCR 15', async () => {
    // TPM2_PCR_Extend (TPM 2.0 library part 3, 22.2) of PCR 15 with an empty password and 32 bytes of ff.
    await lab.run(
      `printf '${[...Buffer.from(extendPcr15())].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}' > /tmp/extend; exec 3<>/dev/tpmrm0; cat /tmp/extend >&3; head -c 10 <&3 >/dev/null; exec 3>&-`,
    );
    expect((await lab.shell.run(UNSEAL)).exitCode).not.toBe(0);
  });

  it('leaves nothing readable on the disk', async () => {
    await lab.machine.powerCut();
    const [disk] = lab.machine.disks;
    const partitions = await partitionsOn(disk);
    expect(numbersAndLabels(partitions)).toEqual([
      '1 esp',
      '2 rootfs',
      '3 edge_persistent',
      '4 hashmap_a',
      '5 hashmap_b',
      '6 rootfs_b',
      '7 roothash',
      '8 swap',
      '9 tep',
      '10 reserved',
    ]);
    const part = (number: number) => partitions.find((each) => each.number === number);
    // Root, hash tree, root hash and the copies on the way.
    for (const number of [2, 4, 7, 10]) {
      const { startBytes = 0, sizeBytes = 0 } = part(number) ?? {};
      const bytes = (await disk?.read(startBytes, Math.min(sizeBytes, 64 << 20))) ?? Buffer.alloc(0);
      expect(bytes.length).toBeGreaterThan(0);
      expect(bytes.includes('part_a_roothash')).toBe(false);
      expect(bytes.includes('ID=test')).toBe(false);
      expect(bytes.includes('edge_persistent')).toBe(false);
    }
  });
});
