import { describe, expect, it } from 'vitest';
import { qemuArguments } from '../../../lab/qemu/command-line.ts';
import type { DiskSpec, MachineSpec } from '../../../lab/qemu/machine-spec.ts';

function args(spec: MachineSpec): string {
  const disks = (spec.disks ?? []).map((_, index) => `/d${index}`);
  return qemuArguments(spec, { disks, taps: [], efiVariables: '/vars' }, 'tcg').join(' ');
}

describe('the QEMU command line', () => {
  it('starts paused, without anything that was not asked for, and without -cpu max', () => {
    expect(args({})).toMatch(/-nodefaults .*-S .*-machine q35 -m 512 -smp 1/);
    expect(args({})).not.toMatch(/-cpu max|-netdev|-blockdev|pflash/);
  });

  it('puts each SATA disk on a port of its own, counted among SATA disks only', () => {
    const disk = (bus: DiskSpec['bus']): DiskSpec => ({ bus, size: 1 });
    const line = args({ disks: [disk('nvme'), disk('sata'), disk('virtio'), disk('sata')] });
    expect(line).toMatch(/ide-hd,id=disk1,[^ ]*bus=ide\.0/);
    expect(line).toMatch(/ide-hd,id=disk3,[^ ]*bus=ide\.1/);
  });

  it('injects faults between the disk and its file', () => {
    const line = args({ disks: [{ bus: 'nvme', size: 1, faults: [{ on: 'write', sector: 8 }] }] });
    expect(line).toContain('"iotype":"write","errno":5,"once":false,"sector":8');
    expect(line).toContain('drive=disk0-faulty');
  });

  it('keeps a comma in an SMBIOS value', () => {
    expect(args({ smbios: { manufacturer: 'Acme, Inc.' } })).toContain('type=1,manufacturer=Acme,, Inc.');
  });

  it('refuses a WWN where QEMU has none', () => {
    expect(() => args({ disks: [{ bus: 'usb', size: 1, wwn: '0x1' }] })).toThrow(/WWN/);
  });

  it('starts an unpacked kernel where there is a BIOS; EFI firmware and a BIOS with a TPM get the kernel file', () => {
    const kernel = { kernel: '/vmlinuz', unpacked: '/vmlinux' };
    expect(args({ kernel })).toContain('-kernel /vmlinux');
    expect(args({ kernel, firmware: 'ovmf' })).toContain('-kernel /vmlinuz');
    expect(args({ kernel, tpm: true })).toContain('-kernel /vmlinuz');
    expect(args({ kernel: { kernel: '/vmlinuz' } })).toContain('-kernel /vmlinuz');
  });

  it('keeps Secure Boot’s variable store out of reach of the guest', () => {
    const line = args({ firmware: 'ovmf-secure-boot' });
    expect(line).toContain('q35,smm=on');
    expect(line).toContain('driver=cfi.pflash01,property=secure,value=on');
  });
});
