import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeCpio } from '../../formats/cpio.ts';
import { fileOf, hardDriveOf } from '../../formats/efi/device-path.ts';
import { decodeLoadOption } from '../../formats/efi/load-option.ts';
import { ensureMicroOs } from '../../initrd/index.ts';
import { bootMachine, type Machine } from '../../lab/qemu/machine.ts';
import type { KernelSpec } from '../../lab/qemu/machine-spec.ts';
import { microOsKernel } from '../../lab/qemu/micro-os.ts';
import { MicroOsShell } from './micro-os-shell.ts';
import { buildTestImage, type TestImage } from './test-image.ts';

let image: TestImage;
let server: Server;
let kernel: KernelSpec;
let machine: Machine;
let shell: MicroOsShell;
let url: string;

const SIZE = '192M';

/** One machine with a disk on every bus, UEFI with real variables, and the Micro-OS with a shell. */
beforeAll(async () => {
  const microOs = await ensureMicroOs('minimal');
  // Any EFI program will do as a loader; the kernel is one.
  image = await buildTestImage({
    loader: microOs.kernel,
    loaderPath: 'EFI/Linux/test.efi',
    initramfs: await greetingInitramfs(),
  });
  server = createServer((_, response) => {
    createReadStream(image.raw).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://10.0.2.2:${(server.address() as { port: number }).port}/disk.raw`;
  kernel = await microOsKernel({ cmdline: 'kindling.debug' });
  machine = await bootMachine({
    name: 'actions on every bus',
    firmware: 'ovmf',
    memoryMb: 640,
    disks: [
      { bus: 'nvme', size: SIZE, serial: 'NVME1' },
      { bus: 'sata', size: SIZE, serial: 'SATA1' },
      { bus: 'scsi', size: '256M', serial: 'SCSI1' },
      { bus: 'virtio', size: SIZE, serial: 'VIRTIO1' },
      { bus: 'usb', size: '64M', serial: 'USB1' },
      { bus: 'usb', size: '64M', serial: 'STICK1', removable: true },
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
  await image?.[Symbol.asyncDispose]();
});

describe('on one machine with five kinds of disk', () => {
  it('the plan takes the smaller of the sd disks, and never the one on USB', async () => {
    const { output, exitCode } = await shell.run(
      `kindling-agent action image2disk --set IMG_URL=${url} --dry-run`,
    );
    expect(exitCode).toBe(0);
    expect(output).toMatch(/destroys everything on \/dev\/sd\w \(.*SATA1/);
    expect(output).toMatch(/leaves alone \/dev\/sd\w: it is attached by USB/);
    expect(output).toMatch(/leaves alone \/dev\/sd\w: it is removable/);
    expect(output).toMatch(/leaves alone \/dev\/nvme0n1: another disk comes first/);
  });

  // The other buses: image-writer/image-writer.qemu.test.ts
  it('an image is written to the SCSI disk', async () => {
    expect(await shell.action('image2disk', { IMG_URL: url, KINDLING_DISK: 'serial=SCSI1' })).toMatchObject({
      exitCode: 0,
    });
  });

  it.each(['virtio', 'nvme'])(
    'an image is written to the %s disk and its files can be changed',
    async (bus) => {
      const selector = `serial=${bus.toUpperCase()}1`;
      const written = await shell.action('image2disk', { IMG_URL: url, KINDLING_DISK: selector });
      expect(written).toMatchObject({ exitCode: 0 });
      // Without DEST_DISK: the actions after the writer use the disk it wrote to.
      const file = await shell.action('writefile', {
        DEST_PATH: '/etc/where',
        CONTENTS: 'disk $DEST_DISK partition $ID',
        MODE: '0600',
      });
      expect(file).toMatchObject({ exitCode: 0 });
      const command = await shell.action('cexec', {
        CHROOT: 'y',
        DEFAULT_INTERPRETER: '/bin/sh -c',
        CMD_LINE: 'cat /etc/where; ls /proc/self > /dev/null',
      });
      expect(command).toMatchObject({
        exitCode: 0,
        output: expect.stringMatching(
          bus === 'nvme' ? 'disk /dev/nvme0n1 partition p2' : /disk \/dev\/[sv]d\w partition 2/,
        ),
      });
    },
  );

  it('cloud-init and the first-boot report are put in place', async () => {
    const disk = { KINDLING_DISK: 'serial=VIRTIO1' };
    const seed = await shell.action('cloud-init', {
      ...disk,
      USER_DATA: '#cloud-config\nhostname: n1\n',
      HOSTNAME: 'n1',
    });
    expect(seed).toMatchObject({ exitCode: 0, output: expect.stringContaining('mutable') });
    const report = await shell.action('first-boot-report', { ...disk, FIRST_BOOT_URL: 'http://10.0.2.2/x' });
    expect(report).toMatchObject({ exitCode: 0 });
    const look = await shell.action('cexec', {
      ...disk,
      CHROOT: 'y',
      CMD_LINE: '/bin/ls /var/lib/cloud/seed/nocloud /etc/systemd/system/multi-user.target.wants',
    });
    expect(look.output).toMatch(
      /meta-data[\s\S]*user-data[\s\S]*kindling-first-boot-report\.service|kindling-first-boot-report\.service[\s\S]*meta-data/,
    );
  });

  it('efibootset makes the firmware boot the disk: entry, order, BootNext and removable path', async () => {
    const first = await shell.action('efibootset'); // of the disk that was written last
    expect(first).toMatchObject({ exitCode: 0, output: expect.stringContaining('new entry') });
    const again = await shell.action('efibootset');
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.output).not.toContain('new entry');

    const variables = new Map(machine.efiVariables().map(({ name, data }) => [name, Buffer.from(data)]));
    const number = variables.get('BootOrder')?.readUInt16LE(0) ?? -1;
    const entry = decodeLoadOption(
      variables.get(`Boot${number.toString(16).toUpperCase().padStart(4, '0')}`) ?? Buffer.alloc(0),
    );
    expect(entry?.description).toBe('Kindling');
    expect(hardDriveOf(entry?.devicePath ?? [])?.partUuid).toBe(image.espGuid);
    expect(fileOf(entry?.devicePath ?? [])).toBe('\\EFI\\Linux\\test.efi');
    expect(variables.get('BootNext')?.readUInt16LE(0)).toBe(number);
  });

  it('boot-order takes the name, the loader and the place in the order it is told', async () => {
    const before = machine.efiVariables().find(({ name }) => name === 'BootOrder')?.data ?? [];
    const told = { BOOT_LABEL: 'Site', BOOT_LOADER: '\\EFI\\BOOT\\BOOTX64.EFI', BOOT_POLICY: 'keep-order' };
    expect(await shell.action('boot-order', told)).toMatchObject({ exitCode: 0 });
    const variables = new Map(machine.efiVariables().map(({ name, data }) => [name, Buffer.from(data)]));
    const number = variables.get('BootNext')?.readUInt16LE(0) ?? -1;
    const entry = decodeLoadOption(
      variables.get(`Boot${number.toString(16).toUpperCase().padStart(4, '0')}`) ?? Buffer.alloc(0),
    );
    expect(entry?.description).toBe('Site');
    expect(fileOf(entry?.devicePath ?? [])).toBe('\\EFI\\BOOT\\BOOTX64.EFI');
    const after = variables.get('BootOrder') ?? Buffer.alloc(0);
    expect(after.subarray(0, Buffer.from(before).length).equals(Buffer.from(before))).toBe(true);
    expect(after.readUInt16LE(after.length - 2)).toBe(number);
    const missing = { ...told, BOOT_LOADER: '\\EFI\\none.efi' };
    expect((await shell.action('boot-order', missing)).output).toContain('KND_LOADER_NONE');
    // What the machine starts next is the other entry again: the last test looks at it.
    expect(await shell.action('efibootset')).toMatchObject({ exitCode: 0 });
    const next = machine.efiVariables().find(({ name }) => name === 'BootNext')?.data ?? [];
    expect(Buffer.from(next).readUInt16LE(0)).not.toBe(number);
  });

  it('erases everything but what is kept, whatever was on it, and proves it', async () => {
    const erased = await shell.action('erase_non_removable_disks', {
      ERASE_KEEP: 'serial=NVME1',
      ERASE_METHOD: 'zeroes',
    });
    expect(erased).toMatchObject({ exitCode: 0 });
    const { output } = await shell.run('kindling-agent inventory --output json');
    expect(output.match(/"partitionTable": ?"gpt"/g)).toHaveLength(1);
    expect(erased.output).toMatch(/was detached/);
    expect(output).not.toMatch(/"isRemovable": ?true/);
    const format = await shell.action('erase_non_removable_disks', {
      ERASE_ONLY: 'bus=nvme',
      ERASE_METHOD: 'nvme-sanitize',
    });
    expect(format).toMatchObject({ exitCode: 4, output: expect.stringContaining('KND_ERASE_UNSUPPORTED') });
  });

  it('kexec starts the installed kernel and its initramfs without the firmware', async () => {
    const installed = 'KERNEL_PATH=/EFI/Linux/test.efi --set INITRD_PATH=/initrd.img';
    const mark = machine.console.mark();
    machine.console.type(
      `kindling-agent action kexec --set BLOCK_DEVICE=/dev/nvme0n1p1 --set FS_TYPE=vfat --set ${installed} --set 'CMD_LINE=console=ttyS0 started-by=kexec'\n`,
    );
    await machine.console.waitFor('installed userspace with console=ttyS0 started-by=kexec', {
      after: mark,
      timeoutMs: 120_000,
    });
  });

  it('the firmware really boots what was installed', async () => {
    await machine.powerCut();
    await machine.powerOn({ kernel: undefined });
    await machine.console.waitFor(/BdsDxe: starting Boot\w+ "Kindling" from HD\(1,GPT,.*test\.efi/, {
      timeoutMs: 180_000,
    });
  });
});

/** All that an installed system needs to say that it is up, and under which command line. */
async function greetingInitramfs(): Promise<Buffer> {
  return encodeCpio([
    { path: 'bin', mode: 0o755, type: 'directory' },
    { path: 'proc', mode: 0o755, type: 'directory' },
    { path: 'dev', mode: 0o755, type: 'directory' },
    { path: 'bin/busybox', mode: 0o755, type: 'file', contents: await readFile('/bin/busybox') },
    {
      path: 'init',
      mode: 0o755,
      type: 'file',
      contents: Buffer.from(
        [
          '#!/bin/busybox sh',
          '/bin/busybox mount -t proc proc /proc',
          '/bin/busybox mount -t devtmpfs dev /dev',
          'echo "installed userspace with $(/bin/busybox cat /proc/cmdline)" > /dev/ttyS0',
          'exec /bin/busybox sleep 1000',
        ].join('\n'),
      ),
    },
  ]);
}
