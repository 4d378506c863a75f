import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { canBoot, chooseAccelerator } from '../../../lab/qemu/accelerator.ts';
import { bootOrder, EFI_GLOBAL_GUID } from '../../../lab/qemu/efi-variables.ts';
import { bootMachine, createMachine } from '../../../lab/qemu/machine.ts';
import { createTestNetwork } from '../../../lab/qemu/network.ts';
import { leftovers, makeFolder, removeFolder } from '../../../lab/qemu/processes.ts';
import { waitFor } from '../../../system/wait.ts';
import { countingBootSector } from './boot-sector.ts';

const folder = makeFolder('harness-test');
const bootable = join(folder, 'counting.raw');
const countingDisk = { bus: 'virtio', file: bootable, copy: true, size: '1M' } as const;
const quick = { timeoutMs: 90_000 };
writeFileSync(bootable, Buffer.concat([countingBootSector('this is boot number '), Buffer.alloc(512)]));

afterAll(() => {
  removeFolder(folder);
  expect(leftovers()).toEqual([]);
});

describe('a machine', () => {
  it('keeps what was written through a power-cut, a second boot and a reset', async () => {
    await using machine = await bootMachine({ disks: [countingDisk] });
    const first = await machine.console.waitFor(/boot number (\d)/, quick);
    expect(first.groups[1]).toBe('1');

    await machine.powerCut();
    expect(machine.isOn).toBe(false);
    expect((await machine.disks[0]?.read(512, 1))?.[0]).toBe(1);

    await machine.powerOn();
    const second = await machine.console.waitFor(/boot number (\d)/, quick);
    expect(second.groups[1]).toBe('2');

    const mark = machine.console.mark();
    await machine.reset();
    const third = await machine.console.waitFor(/boot number (\d)/, { ...quick, after: mark });
    expect(third.groups[1]).toBe('3');
    expect(machine.events.map(({ name }) => name)).toContain('RESET');
  });

  it('boots from every disk bus, also from one that is faulty elsewhere', async () => {
    for (const bus of ['nvme', 'sata', 'scsi', 'usb'] as const) {
      await using machine = await bootMachine({
        disks: [{ ...countingDisk, bus, serial: 'S1', faults: [{ on: 'write', sector: 100 }] }],
      });
      await machine.console.waitFor('boot number 1', quick);
    }
  });

  it('hears what is typed', async () => {
    await using machine = await bootMachine({ disks: [countingDisk] });
    const { mark } = await machine.console.waitFor('boot number', quick);
    machine.console.type('are you there?\n');
    await machine.console.waitFor('are you there?', { ...quick, after: mark });
  });

  it('writes EFI variables that can be read from outside, and keeps them', async () => {
    await using machine = await bootMachine({ firmware: 'ovmf', memoryMb: 256, nics: [{ model: 'virtio' }] });
    const read = () => {
      const order = bootOrder(machine.efiVariables()).map(({ description }) => description);
      const isComplete =
        order.includes('UiApp') && order.some((description) => description.includes('PXEv4'));
      return isComplete || undefined;
    };
    await waitFor(read, { name: 'the boot order in flash', ...quick });
    await machine.powerCut();
    const names = machine.efiVariables().filter(({ guid }) => guid === EFI_GLOBAL_GUID);
    expect(names.map(({ name }) => name)).toEqual(expect.arrayContaining(['BootOrder', 'Boot0000']));
  });
});

describe('when something goes wrong', () => {
  it('waitFor ends at its deadline and shows the last lines of the console', async () => {
    await using machine = await bootMachine({ disks: [countingDisk] });
    await machine.console.waitFor('boot number 1', quick);
    const waiting = machine.console.waitFor(/login:/, { timeoutMs: 300 });
    await expect(waiting).rejects.toMatchObject({
      code: 'KND_TIMEOUT',
      message: expect.stringMatching(/login:.*this is boot number 1/s),
    });
  });

  it('waitFor ends at once when the machine is cut off', async () => {
    await using machine = await bootMachine({ disks: [countingDisk] });
    const waiting = machine.console.waitFor(/login:/, quick);
    const [outcome] = await Promise.allSettled([waiting, machine.powerCut()]);
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'KND_VM_ENDED' } });
  });

  it('a machine QEMU refuses fails with QEMU’s own words and leaves nothing behind', async () => {
    const before = leftovers();
    await expect(bootMachine({ qemuArgs: ['-device', 'flux-capacitor'] })).rejects.toThrow(/flux-capacitor/);
    expect(leftovers()).toEqual(before);
  });

  it('a test that throws leaves no process and no file', async () => {
    const before = leftovers();
    let pid = 0;
    const failingTest = async () => {
      await using network = await createTestNetwork();
      await using machine = await bootMachine({
        firmware: 'ovmf',
        tpm: true,
        disks: [{ bus: 'nvme', size: '64M' }],
        nics: [{ model: 'virtio', network: network.bridge }],
      });
      pid = machine.pid;
      expect(leftovers().length).toBeGreaterThan(before.length);
      throw new Error('the test failed');
    };
    await expect(failingTest()).rejects.toThrow('the test failed');
    await waitFor(() => (leftovers().length === before.length ? true : undefined), {
      name: 'the end of swtpm',
      ...quick,
    });
    expect(existsSync(`/proc/${pid}`)).toBe(false);
  });

  it('machines die with the process that made them, even when it is killed', async () => {
    const script = `
      import { bootMachine } from ${JSON.stringify(new URL('../../../lab/qemu/machine.ts', import.meta.url).href)};
      const machine = await bootMachine({});
      console.log(machine.pid);
      process.kill(process.pid, 'SIGKILL');
    `;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', script], {
      encoding: 'utf8',
    });
    const pid = Number(stdout.trim());
    expect(pid).toBeGreaterThan(0);
    await waitFor(() => (existsSync(`/proc/${pid}`) ? undefined : true), {
      name: 'the end of QEMU',
      ...quick,
    });
  });

  it('tells a machine with no disk image what is missing', async () => {
    await expect(createMachine({ disks: [{ bus: 'nvme', file: '/nowhere.raw' }] })).rejects.toMatchObject({
      code: 'KND_USAGE',
      message: expect.stringContaining('/nowhere.raw'),
    });
  });
});

describe('the accelerator', () => {
  it('is one that really boots something', async () => {
    expect(await canBoot(await chooseAccelerator(), 60_000)).toBe(true);
  });
});

describe('a test network', () => {
  it('has a real DHCP server in a namespace of its own, which answers across the bridge', async () => {
    await using network = await createTestNetwork();
    const { bridge } = network;
    const dhcp = await bridge.addHost(2);
    const { log } = await dhcp.startDnsmasq([`dhcp-range=${bridge.address(100)},${bridge.address(150)},1h`]);
    const client = await bridge.addHost(3);
    await client.run('busybox', ['ping', '-c', '1', '-W', '5', bridge.address(2)]);
    await client.run('busybox', ['udhcpc', '-i', 'eth0', '-n', '-q', '-t', '5', '-s', '/bin/true']);
    expect(log()).toMatch(/DHCPACK\(eth0\) 10\.77\.0\.1\d\d/);
  });
});
