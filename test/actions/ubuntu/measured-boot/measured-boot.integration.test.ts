import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { efiProgram, SimulatedMachine } from './simulated-machine.ts';

const GRUB = 'boot/efi/EFI/debian/grubx64.efi';
const STUB = 'boot/efi/EFI/debian/grub.cfg';
let machine: SimulatedMachine;
/** The disk as the first boot left it; what a test does to it is undone. */
let disk: string;

beforeAll(async () => {
  machine = await SimulatedMachine.make();
  await machine.start();
  disk = machine.at('disk-after-first-boot');
  machine.copyDiskTo(disk);
}, 60_000);
beforeEach(() => {
  machine.secureBoot = 'on, with the keys of the site';
  machine.copyDiskFrom(disk);
});
afterAll(() => machine?.[Symbol.asyncDispose]());

const opens = () => ({ key: machine.diskKey, said: '' });
const refuses = (why: string) => ({
  key: '',
  said: `kindling: ${why}\nkindling: the TPM does not give the key of rootfs_crypt\n`,
});

describe('a disk whose key is sealed to what was booted', () => {
  it('opens to the same boot, every volume with one question to the TPM', async () => {
    expect(await machine.boot()).toEqual(opens());
    expect(machine.unlock()).toEqual(opens());
  });

  it('the key that the installer left to any system is gone', async () => {
    await machine.boot();
    expect(machine.givesFirstKey()).toBe(false);
  });

  it('S-04: does not open to a genuine kernel with a foreign initramfs', async () => {
    machine.write('boot/initrd.img-6.1.0-1', 'foreign');
    expect(await machine.boot()).toEqual(
      refuses('PCR 9 differs: another kernel, initramfs or boot menu on the disk'),
    );
  });

  it('does not open to another command line, typed into the menu', async () => {
    const edit = (text: string) => text.replace('ro quiet', 'ro quiet init=/bin/sh');
    const { key, said } = await machine.boot({ edit });
    expect(key).toBe('');
    expect(said).toContain('PCR 8 differs: another kernel command line, or another entry of the boot menu');
  });

  it('does not open to an edited /boot', async () => {
    appendFileSync(machine.at(STUB), 'echo edited\n');
    expect(await machine.boot()).toEqual(
      refuses('PCR 9 differs: another kernel, initramfs or boot menu on the disk'),
    );
  });

  it('does not open to another boot program, even where Secure Boot lets it start', async () => {
    machine.write(GRUB, efiProgram('another GRUB'));
    expect(await machine.boot()).toEqual(
      refuses('PCR 4 differs: another boot program or kernel was started'),
    );
  });

  it('does not open with Secure Boot off', async () => {
    machine.secureBoot = 'off';
    expect(await machine.boot()).toEqual(
      refuses('PCR 7 differs: Secure Boot was switched, or its keys were changed'),
    );
  });

  it('does not open twice: a running system is not given the key', async () => {
    await machine.start();
    rmSync(machine.at('run/kindling-disk-key'));
    expect(machine.unlock()).toEqual(
      refuses('PCR 15 differs: a system was started on this machine since it was switched on'),
    );
  });

  it('does not open in another machine', async () => {
    await using other = await SimulatedMachine.make();
    other.copyDiskFrom(disk);
    expect(await other.boot()).toEqual(
      refuses('this disk was sealed by the TPM of another machine, or the TPM was cleared'),
    );
  });

  it('the key is not readable on the bus of the TPM, where the first boot still shows it', async () => {
    await using other = await SimulatedMachine.make();
    const first = await other.listen(async () => void (await other.boot()));
    expect(first.includes(other.diskKey)).toBe(true);
    const later = await machine.listen(async () => expect(await machine.boot()).toEqual(opens()));
    expect(later.length).toBeGreaterThan(1000);
    expect(later.includes(machine.diskKey)).toBe(false);
  });
});

describe('an update of what is booted', () => {
  it('opens with the new kernel, initramfs, command line and boot program, then never with the old ones', async () => {
    await machine.start();
    machine.installKernel('6.1.0-2', { initramfs: 'initramfs 2', args: 'ro verbose' });
    machine.write(GRUB, efiProgram('GRUB with a fix'.padEnd(1_200_000))); // the real one has that size, too
    expect(machine.seal('next')).toContain('sealed to the next boot');
    expect(machine.seal('next')).toBe(''); // nothing new
    expect(readFileSync(machine.at(STUB), 'utf8')).toContain('ro verbose\n');
    await machine.start();
    expect(await machine.boot()).toEqual(opens());

    machine.copyDiskFrom(disk); // the older set, header and all
    expect(await machine.boot()).toEqual(
      refuses('these boot files were replaced by newer ones; the TPM does not open the disk to older ones'),
    );
  });
});

describe('before its first boot', () => {
  it('a new kernel is the one that is started and sealed to', async () => {
    await using other = await SimulatedMachine.make();
    other.installKernel('6.1.0-2', { initramfs: 'initramfs 2' });
    other.seal('next');
    expect(readFileSync(other.at(STUB), 'utf8')).toContain('linux /vmlinuz-6.1.0-2 ');
    await other.start();
    expect(await other.boot()).toEqual({ key: other.diskKey, said: '' });
  });
});

describe('without a log of the firmware', () => {
  it('opens after an update of the kernel; one of the boot program is said to need the recovery key', async () => {
    await using other = await SimulatedMachine.make();
    other.hasLog = false;
    await other.start();
    other.installKernel('6.1.0-2', { initramfs: 'initramfs 2' });
    expect(other.seal('next')).toContain('sealed to the next boot');
    await other.start(); // it would throw if the TPM refused

    other.write(GRUB, efiProgram('GRUB with a fix'));
    expect(() => other.seal('next')).toThrow('the next boot will ask for the recovery key');
  });
});

describe('a boot that the TPM does not know', () => {
  it('is opened by a person with the recovery key, and is the one it knows from then on', async () => {
    machine.installKernel('6.1.0-3', { initramfs: 'made by hand' });
    machine.seal('menu');
    machine.willType(machine.diskKey);
    expect((await machine.boot()).said).toContain('PCR 9 differs');
    await machine.start();
    machine.willType('');
    expect(await machine.boot()).toEqual(opens());
    execFileSync('cryptsetup', ['token', 'export', '--token-id', '1', machine.volume]);
  });
});
