import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DiskFile } from '../../../lab/qemu/disk-file.ts';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import { ensureEncryptableTarget } from '../../../lab/target-images/encryptable.ts';
import { EncryptionLab } from '../encryption/encryption-lab.ts';
import { numbersAndLabels, partitionsOn } from '../partitions-on.ts';

const LONG = 900_000;
const JAMMY = { KINDLING_DISK: 'serial=RELEASE2204' };
const NOBLE = { KINDLING_DISK: 'serial=RELEASE2404' };
/** Tells on the console what the installed system came up with. */
const REPORT = `#!/bin/sh
exec >/dev/ttyS0 2>&1
for m in / /boot /boot/efi /var/lib/rancher; do echo "UP $m $(findmnt -no SOURCE $m)"; done
echo "UP swap $(swapon --show=NAME --noheadings | xargs -r readlink -f)"
tpm2-initramfs-tool unseal --pcrs 15 -T device:/dev/tpmrm0 >/dev/null 2>&1; echo "UP unseal $?"
echo "UP typed $(ls /run | grep -c kindling-recovery-key)"
echo UP end
`;

let lab: EncryptionLab;

beforeAll(async () => {
  lab = await EncryptionLab.start({
    name: 'encryption of mutable systems',
    firmware: 'ovmf',
    disks: [
      {
        bus: 'nvme',
        file: await ensureEncryptableTarget('22.04'),
        copy: true,
        size: '31G',
        serial: 'RELEASE2204',
      },
      {
        bus: 'nvme',
        file: await ensureEncryptableTarget('24.04'),
        copy: true,
        size: '26G',
        serial: 'RELEASE2404',
      },
    ],
    variables: { MINIMUM_ROOTFS_SIZE: '4', KINDLING_OTHER_DISKS: 'leave' },
  });
});
afterAll(() => lab?.[Symbol.asyncDispose]());

const placeReport = (disk: Record<string, string>) =>
  lab.action('writefile', { ...disk, DEST_PATH: '/etc/rc.local', CONTENTS: REPORT, MODE: '0755' });

const keyIds = () => [...new Set(lab.escrowed.map(({ keyId }) => keyId))];

async function upReport({ console }: Machine): Promise<string[]> {
  await console.waitFor(/UP end/, { timeoutMs: 400_000 });
  return console.lines.flatMap(({ text }) => /(?<!\S)UP (?=[/a-z]).*\S/.exec(text)?.[0] ?? []);
}

const up = (boot: number) => [
  'UP / /dev/mapper/rootfs_crypt',
  expect.stringMatching(new RegExp(`^UP /boot /dev/nvme\\dn1p${boot}$`)),
  expect.stringMatching(/^UP \/boot\/efi \/dev\/nvme\dn1p15$/),
  'UP /var/lib/rancher /dev/mapper/persistent_crypt[/rancher]',
  expect.stringMatching(/^UP swap \/dev\/dm-\d/),
  'UP unseal 1',
  'UP typed 0',
  'UP end',
];

async function expectUnreadable(disk: DiskFile | undefined, labels: string[]): Promise<void> {
  const partitions = await partitionsOn(disk);
  expect(numbersAndLabels(partitions)).toEqual(labels);
  for (const label of ['rootfs', 'reserved']) {
    const part = partitions.find(({ partLabel }) => partLabel === label);
    const bytes = (await disk?.read(part?.startBytes ?? 0, 240 << 20)) ?? Buffer.alloc(0);
    expect(bytes.includes('multi-user.target')).toBe(false);
  }
}

describe('full disk encryption of a mutable system', () => {
  it('24.04 is encrypted around the /boot it has', { timeout: LONG }, async () => {
    await placeReport(NOBLE);
    expect(await lab.encrypt(NOBLE)).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('is encrypted'),
    });
    expect(keyIds()).toHaveLength(1);
  });

  it('22.04 is hit by a power cut in the middle of the root', { timeout: LONG }, async () => {
    await placeReport(JAMMY);
    await lab.encryptUntil(/^encrypting the root [3-9]/, JAMMY);
    expect(keyIds()).toHaveLength(2);
    await lab.machine.powerCut();
  });

  it('after it goes on with the same keys; actions after it still reach the system', {
    timeout: LONG,
  }, async () => {
    await lab.restart();
    expect(await lab.encrypt(JAMMY)).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('is encrypted'),
    });
    expect(keyIds()).toHaveLength(2);
    expect(await lab.encrypt(JAMMY)).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('is encrypted already'),
    });
    await lab.action('writefile', { ...JAMMY, DEST_PATH: '/etc/after-encryption', CONTENTS: 'reached' });
    expect(await lab.action('kernelupgrd', { ...JAMMY, SKIP_KERNEL_UPGRADE: 'true' })).toContain(
      'the disk is encrypted',
    );
    expect(await lab.run('ls /dev/mapper')).not.toContain('crypt');
  });

  it('the installed system opens its volumes with the TPM, which then keeps the key', {
    timeout: LONG,
  }, async () => {
    await lab.machine.powerCut();
    await lab.machine.powerOn({ kernel: undefined });
    expect(await upReport(lab.machine)).toEqual(up(2));
  });

  it('on another mainboard the recovery key is asked for once, and opens every volume', {
    timeout: LONG,
  }, async () => {
    await lab.machine.powerCut();
    const [, noble] = lab.machine.disks;
    await using other = await bootMachine({
      name: 'another mainboard',
      firmware: 'ovmf',
      memoryMb: 1024,
      tpm: true,
      disks: [{ bus: 'nvme', ...(noble ? { file: noble.path } : {}) }],
    });
    const asked = /Recovery key for rootfs_crypt:/;
    const patience = { prompt: true, timeoutMs: 240_000 };
    const { mark } = await other.console.waitFor(asked, patience);
    other.console.type('not-the-key\n');
    await other.console.waitFor(asked, { ...patience, after: mark });
    other.console.type(`${lab.escrowed[0]?.recoveryKey}\n`);
    expect(await upReport(other)).toEqual(up(16));
    expect(other.console.text).not.toContain('Recovery key for swap_crypt');
    expect(other.console.text).not.toContain(lab.escrowed[0]?.recoveryKey);
  });

  it('nothing readable is left on the disks', async () => {
    const [jammy, noble] = lab.machine.disks;
    await expectUnreadable(jammy, [
      '1 rootfs',
      '2 boot',
      '3 swap',
      '4 trusted_compute',
      '5 reserved',
      '6 persistent',
      '15 ESP',
    ]);
    await expectUnreadable(noble, [
      '1 rootfs',
      '2 swap',
      '3 tep',
      '4 reserved',
      '5 persistent',
      '15 ESP',
      '16 BOOT',
    ]);
  });
});
