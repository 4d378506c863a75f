import { describe, expect, it } from 'vitest';
import { type KernelModule, moduleIndexes } from '../../../initrd/micro-os/kernel-modules.ts';

function module(name: string, dependsOn: string[], aliases: string[] = []): KernelModule {
  return { name, path: `kernel/${name}.ko`, contents: Buffer.alloc(0), dependsOn, aliases };
}

describe('the indexes modprobe reads', () => {
  it('list a module’s dependencies so that, loaded from the last to the first, each finds its own', () => {
    const modules = [
      module('ext4', ['jbd2', 'mbcache', 'crc16']),
      module('jbd2', ['crc16']),
      module('mbcache', []),
      module('crc16', []),
    ];
    const [first] = moduleIndexes(modules).dependencies.split('\n');
    expect(first).toBe('kernel/ext4.ko: kernel/jbd2.ko kernel/mbcache.ko kernel/crc16.ko');
  });

  it('leave out what is built into the kernel', () => {
    expect(moduleIndexes([module('nvme', ['t10_pi'])]).dependencies).toBe('kernel/nvme.ko:\n');
  });

  it('name the module for each of its hardware ids', () => {
    const { aliases } = moduleIndexes([module('nvme', [], ['pci:v*d*sv*sd*bc01sc08i02*', 'nvme'])]);
    expect(aliases).toBe('alias pci:v*d*sv*sd*bc01sc08i02* nvme\nalias nvme nvme\n');
  });
});
