import { expect } from 'vitest';
import type { DiskFile } from '../../../lab/qemu/disk-file.ts';
import type { Machine } from '../../../lab/qemu/machine.ts';
import { ensureEncryptableTarget } from '../../../lab/target-images/encryptable.ts';
import { EncryptionLab } from '../encryption/encryption-lab.ts';
import { numbersAndLabels, partitionsOn } from '../partitions-on.ts';

/** Tells on the console what the installed system came up with. */
const REPORT = `#!/bin/sh
exec >/dev/ttyS0 2>&1
for m in / /boot /boot/efi /var/lib/rancher; do echo "UP $m $(findmnt -no SOURCE $m)"; done
echo "UP swap $(swapon --show=NAME --noheadings | xargs -r readlink -f)"
tpm2-initramfs-tool unseal --pcrs 15 -T device:/dev/tpmrm0 >/dev/null 2>&1; echo "UP unseal $?"
echo "UP typed $(ls /run | grep -c kindling-recovery-key)"
echo UP end
`;

/** A machine whose disk holds a mutable system of a release, not yet encrypted, that will report what it came up with. */
export async function startWithRelease(
  release: Parameters<typeof ensureEncryptableTarget>[0],
  size: string,
): Promise<EncryptionLab> {
  const lab = await EncryptionLab.start({
    name: `encryption of ${release}`,
    firmware: 'ovmf',
    disks: [{ bus: 'nvme', file: await ensureEncryptableTarget(release), copy: true, size, serial: 'DISK1' }],
    variables: { MINIMUM_ROOTFS_SIZE: '4', KINDLING_OTHER_DISKS: 'leave' },
  });
  await lab.action('writefile', { DEST_PATH: '/etc/rc.local', CONTENTS: REPORT, MODE: '0755' });
  return lab;
}

export async function upReport({ console }: Machine): Promise<string[]> {
  await console.waitFor(/UP end/, { timeoutMs: 400_000 });
  return console.lines.flatMap(({ text }) => /(?<!\S)UP (?=[/a-z]).*\S/.exec(text)?.[0] ?? []);
}

/** What a system reports that opened its volumes with the TPM; `boot` is the number of its boot partition. */
export const up = (boot: number) => [
  'UP / /dev/mapper/rootfs_crypt',
  expect.stringMatching(new RegExp(`^UP /boot /dev/nvme\\dn1p${boot}$`)),
  expect.stringMatching(/^UP \/boot\/efi \/dev\/nvme\dn1p15$/),
  'UP /var/lib/rancher /dev/mapper/persistent_crypt[/rancher]',
  expect.stringMatching(/^UP swap \/dev\/dm-\d/),
  'UP unseal 1',
  'UP typed 0',
  'UP end',
];

export async function expectUnreadable(disk: DiskFile | undefined, labels: string[]): Promise<void> {
  const partitions = await partitionsOn(disk);
  expect(numbersAndLabels(partitions)).toEqual(labels);
  for (const label of ['rootfs', 'reserved']) {
    const part = partitions.find(({ partLabel }) => partLabel === label);
    const bytes = (await disk?.read(part?.startBytes ?? 0, 240 << 20)) ?? Buffer.alloc(0);
    expect(bytes.includes('multi-user.target')).toBe(false);
  }
}
