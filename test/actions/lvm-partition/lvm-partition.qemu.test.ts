import { afterAll, expect, it } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { MicroOsShell } from '../micro-os-shell.ts';
import { partitionsOn } from '../partitions-on.ts';
import { buildTestImage } from '../test-image.ts';

const image = await buildTestImage({ loader: import.meta.filename, loaderPath: 'EFI/Linux/any.efi' });
afterAll(() => image[Symbol.asyncDispose]());

it('the end of an installed disk becomes a volume group, once, a kill in the middle or not, and the system in front of it is left alone', async () => {
  await using machine = await bootMachine({
    memoryMb: 768,
    disks: [{ bus: 'nvme', file: image.raw, copy: true, size: '3G', serial: 'SYSTEM' }],
    kernel: await microOsKernel({ profile: 'full', cmdline: 'kindling.debug kindling.on_failure=hold' }),
  });
  const shell = new MicroOsShell(machine);
  await machine.console.waitFor(/KINDLING-STAGE \{"stage":"devices"/, { timeoutMs: 240_000 });
  const [disk] = machine.disks;
  const before = await partitionsOn(disk);

  const tooLarge = await shell.action('lvm-partition', { KINDLING_DISK: 'serial=SYSTEM', LVM_SIZE: '3' });
  expect(tooLarge.output).toContain('KND_DISK_TOO_SMALL');
  const killed = await shell.run(
    'kindling-agent action lvm-partition --set KINDLING_DISK=serial=SYSTEM --set LVM_SIZE=1 >/dev/null 2>&1 & p=$!; until [ -e /dev/nvme0n1p3 ]; do sleep 0.05; done; kill -9 $p; wait $p',
  );
  expect(killed.exitCode).toBe(137);
  for (const _ of ['after the kill', 'again']) {
    const made = await shell.action('lvm-partition', { KINDLING_DISK: 'serial=SYSTEM', LVM_SIZE: '1' });
    expect(made).toMatchObject({ exitCode: 0 });
  }
  const { output } = await shell.run('lvm vgs --noheadings -o vg_name,pv_count,vg_size --units g --nosuffix');
  expect(output).toMatch(/^\s*lvmvg\s+1\s+(1\.00|0\.99|<1\.00)/m);
  await shell.run('sync');
  const after = await partitionsOn(disk);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.slice(before.length)).toMatchObject([{ partLabel: 'lvm', sizeBytes: 2 ** 30 }]);
});
