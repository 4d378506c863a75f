import { afterAll, expect, it } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { readPartitionTable } from '../../../protocol/partition-table/read.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { buildTestImage } from '../test-image.ts';

const image = await buildTestImage({ loader: import.meta.filename, loaderPath: 'EFI/Linux/any.efi' });
afterAll(() => image[Symbol.asyncDispose]());

it('the end of an installed disk becomes a volume group, once, and the system in front of it is left alone', async () => {
  await using machine = await bootMachine({
    memoryMb: 768,
    disks: [{ bus: 'nvme', file: image.raw, copy: true, size: '3G', serial: 'SYSTEM' }],
    kernel: await microOsKernel({ profile: 'full', cmdline: 'kindling.debug kindling.on_failure=hold' }),
  });
  const shell = new MicroOsShell(machine);
  await machine.console.waitFor(/KINDLING-STAGE \{"stage":"devices"/, { timeoutMs: 240_000 });
  const [disk] = machine.disks;
  const tableNow = () =>
    readPartitionTable(
      async (offset, length) => (await disk?.read(offset, length)) ?? Buffer.alloc(0),
      3 * 2 ** 30,
    );
  const before = (await tableNow())?.partitions ?? [];

  const tooLarge = await shell.action('lvm-partition', { KINDLING_DISK: 'serial=SYSTEM', LVM_SIZE: '3' });
  expect(tooLarge.output).toContain('KND_DISK_TOO_SMALL');
  for (const _ of ['first', 'again']) {
    const made = await shell.action('lvm-partition', { KINDLING_DISK: 'serial=SYSTEM', LVM_SIZE: '1' });
    expect(made).toMatchObject({ exitCode: 0 });
  }
  const { output } = await shell.run('lvm vgs --noheadings -o vg_name,pv_count,vg_size --units g --nosuffix');
  expect(output).toMatch(/^\s*lvmvg\s+1\s+(1\.00|0\.99|<1\.00)/m);
  await shell.run('sync');
  const after = (await tableNow())?.partitions ?? [];
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.slice(before.length)).toMatchObject([{ partLabel: 'lvm', sizeBytes: 2 ** 30 }]);
});
