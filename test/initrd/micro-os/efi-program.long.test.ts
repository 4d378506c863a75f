import { spawnSync } from 'node:child_process';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ensureMicroOs } from '../../../initrd/index.ts';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { makeFolder, removeFolder } from '../../../lab/qemu/processes.ts';

const folder = makeFolder('efi-program-test');
const patience = { timeoutMs: 240_000 };

afterAll(() => removeFolder(folder));

// A stick's EFI program, made by the same function: standalone/usb/debian-stick.qemu.test.ts
it('the Micro-OS boots as one EFI program from the default path of a disk', async () => {
  const { uki } = await ensureMicroOs('minimal');
  const esp = join(folder, 'esp.img');
  await writeFile(esp, '');
  await truncate(esp, 96 * 2 ** 20);
  for (const [program, ...args] of [
    ['mkfs.vfat', '-F', '32', esp],
    ['mmd', '-i', esp, '::/EFI', '::/EFI/BOOT'],
    ['mcopy', '-i', esp, uki, '::/EFI/BOOT/BOOTX64.EFI'],
  ] as const)
    expect(spawnSync(program, args, { encoding: 'utf8' }).stderr).toBe('');
  await using machine = await bootMachine({
    firmware: 'ovmf',
    memoryMb: 512,
    disks: [{ bus: 'virtio', file: esp }],
  });
  await machine.console.waitFor(/kindling-agent \d+\.\d+\.\d+/, patience);
});
