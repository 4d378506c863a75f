import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ensureMicroOs, packDropin } from '../../../initrd/index.ts';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { LAB_KERNEL_ARGUMENTS } from '../../../lab/qemu/micro-os.ts';
import { makeFolder, removeFolder } from '../../../lab/qemu/processes.ts';

const folder = makeFolder('micro-os-test');
const patience = { timeoutMs: 240_000 };

afterAll(() => removeFolder(folder));

/** What a technician would type; here it is the first program, and comes out of a drop-in archive. */
const CHECKS = `#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
echo /bin/modprobe >/proc/sys/kernel/modprobe
echo "firmware: $(cat /lib/firmware/site/nic.bin)"
find /sys/devices -name modalias -exec cat {} + | sort -u | xargs modprobe -aqb
modprobe sd_mod && modprobe ext4 && modprobe bonding && echo "drivers: $(ls /sys/class/net | tr '\\n' ' ')"
for second in 1 2 3 4 5 6 7 8 9 10; do [ -b /dev/sda ] && break; sleep 1; done
/sbin/mke2fs -q -F -t ext4 /dev/sda && mount -t ext4 /dev/sda /mnt && echo "ext4: $(grep -c /mnt /proc/mounts)"
umount /mnt
kindling-agent identify && echo "identified, $(free -m | awk '/^Mem/ {print $7}') MB free"
poweroff -f
`;

describe('the Micro-OS', () => {
  it('identifies the machine with 384 MB of RAM, and takes a drop-in archive', async () => {
    const dropin = join(folder, 'dropin');
    await mkdir(join(dropin, 'lib/firmware/site'), { recursive: true });
    await writeFile(join(dropin, 'lib/firmware/site/nic.bin'), 'from the site');
    await writeFile(join(dropin, 'checks'), CHECKS, { mode: 0o755 });
    const extra = join(folder, 'extra.cpio');
    await writeFile(extra, await packDropin(dropin));

    const { kernel, initramfs } = await ensureMicroOs('minimal');
    await using machine = await bootMachine({
      memoryMb: 384,
      disks: [{ bus: 'sata', size: '64M' }],
      nics: [{ model: 'e1000' }],
      kernel: {
        kernel,
        initrd: [initramfs, extra],
        cmdline: `console=ttyS0 panic=-1 quiet ${LAB_KERNEL_ARGUMENTS.join(' ')} rdinit=/checks`,
      },
    });
    const { groups } = await machine.console.waitFor(/identified, (\d+) MB free/, patience);
    expect(Number(groups[1])).toBeGreaterThan(60);
    await machine.console.waitFor(/firmware: from the site/, { timeoutMs: 1000 });
    await machine.console.waitFor(/drivers: .*eth0/, { timeoutMs: 1000 });
    await machine.console.waitFor(/ext4: 1/, { timeoutMs: 1000 });
  });

  // As one EFI program from a disk: efi-program.long.test.ts
});
