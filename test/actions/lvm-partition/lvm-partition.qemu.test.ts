import { afterAll, expect, it } from 'vitest';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { buildTestImage } from '../test-image.ts';

const KILLED = 137; // 128 + SIGKILL
const image = await buildTestImage({ loader: import.meta.filename, loaderPath: 'EFI/Linux/any.efi' });
afterAll(() => image[Symbol.asyncDispose]());

it('the end of an installed disk becomes a volume group, once, killed in the middle or not, and the system in front of it is left alone', async () => {
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
  const variables = { KINDLING_DISK: 'serial=SYSTEM', LVM_SIZE: '1' };
  const make = async () =>
    expect(await shell.action('lvm-partition', variables)).toMatchObject({ exitCode: 0 });
  // The table is written, and the kernel does not know it yet.
  const untold = await shell.killedIn('blockdev', '', 'lvm-partition', variables);
  expect(untold).toMatchObject({ exitCode: KILLED });
  expect((await shell.run('ls /dev/nvme0n1p3')).exitCode).not.toBe(0);
  // The physical volume is made, and belongs to no group yet.
  const half = await shell.killedIn(
    'lvm',
    '[ "$1" = vgcreate ] || exec /sbin/lvm "$@"',
    'lvm-partition',
    variables,
  );
  expect(half).toMatchObject({ exitCode: KILLED });
  expect((await shell.run('lvm pvs --noheadings -o pv_name,vg_name')).output).toMatch(
    /^\s*\/dev\/nvme0n1p3\s*$/m,
  );
  await make();
  await make();
  const { output } = await shell.run('lvm vgs --noheadings -o vg_name,pv_count,vg_size --units g --nosuffix');
  expect(output).toMatch(/^\s*lvmvg\s+1\s+(1\.00|0\.99|<1\.00)/m);
  // VG_NAME: another group on what is there would destroy it; when it is gone, the new name is taken.
  const renamed = { ...variables, VG_NAME: 'data' };
  expect((await shell.action('lvm-partition', renamed)).output).toContain('KND_DISK_REFUSED');
  await shell.run('lvm vgremove -f lvmvg');
  expect(await shell.action('lvm-partition', renamed)).toMatchObject({ exitCode: 0 });
  expect((await shell.run('lvm vgs --noheadings -o vg_name')).output.trim()).toBe('data');
  await shell.run('sync');
  const after = (await tableNow())?.partitions ?? [];
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.slice(before.length)).toMatchObject([{ partLabel: 'lvm', sizeBytes: 2 ** 30 }]);
});
