import { describe, expect, it } from 'vitest';
import { formatSize, toAgentAttributes } from '../../../agent/workflow/attributes.ts';
import { formatDuration } from '../../../agent/workflow/duration.ts';
import { parseEnvironment } from '../../../agent/workflow/work.ts';
import { encodeFailure } from '../../../protocol/failure-text.ts';
import type { Inventory } from '../../../protocol/inventory.ts';

describe('durations as tink-agent writes them', () => {
  it.each([
    [63_000, '1m3s'],
    [2015, '2s15ms'],
    [3_720_000, '1h2m'],
    [3_600_005, '1h5ms'],
    [0, '0s'],
    [-5, '0s'],
  ])('%i ms is %s', (milliseconds, expected) => {
    expect(formatDuration(milliseconds)).toBe(expected);
  });
});

describe('sizes as ghw writes them', () => {
  it.each([
    [0, ''],
    [512, '512B'],
    [4096, '4KB'],
    [256_060_514_304, '239GB'],
    [1024, '1KB'],
    [1_000_204_886_016, '932GB'],
  ])('%i bytes are %s', (bytes, expected) => {
    expect(formatSize(bytes)).toBe(expected);
  });
});

describe('texts for people', () => {
  it('a failure has code, reason, causes and next step', () => {
    const text = encodeFailure({
      code: 'KND_X',
      message: 'no disk',
      hint: 'Add one.',
      retryable: false,
      causes: ['EIO'],
    });
    expect(text).toBe('KND_X: no disk; because: EIO; next: Add one.');
  });
});

describe('environment entries', () => {
  it('are split at the first = only', () => {
    expect(parseEnvironment(['A=1', 'B=', 'C=x=y', 'D', 'E=two\nlines'])).toEqual({
      A: '1',
      B: '',
      C: 'x=y',
      D: '',
      E: 'two\nlines',
    });
  });
});

describe('agent attributes', () => {
  it('name disks, cards and GPUs as Tinkerbell’s rules expect them', () => {
    const disk = {
      path: '/dev/x',
      kind: 'disk',
      bus: 'nvme',
      sizeBytes: 512 * 1024 ** 3,
      logicalSectorBytes: 512,
      physicalSectorBytes: 512,
      isRotational: false,
      isRemovable: false,
      isReadOnly: false,
      isVirtualMedia: false,
      isBootMedium: false,
      links: [],
      partitions: [],
      signatures: [],
    } as const;
    const inventory = {
      identity: {
        macs: [],
        nodeId: 'n',
        evidence: [],
        manufacturer: 'Dell Inc.',
        product: 'R650',
        serial: 'S1',
      },
      cpu: {
        model: 'M',
        vendor: 'V',
        architecture: 'x86_64',
        sockets: 2,
        cores: 16,
        threads: 32,
        flags: ['nx'],
      },
      memory: { totalBytes: 31 * 1024 ** 3, modules: [{ sizeBytes: 32 * 1024 ** 3 }] },
      disks: [
        { ...disk, name: 'nvme0n1', wwn: 'eui.1', serial: 'S' },
        { ...disk, name: 'sda', isRotational: true },
        { ...disk, name: 'loop0', kind: 'loop' },
      ],
      nics: [
        {
          name: 'eno1',
          mac: 'aa',
          hasLink: true,
          speedMbps: 1000,
          mtu: 1500,
          addresses: [],
          isBootNic: true,
        },
      ],
      pci: [{ address: '0', vendorId: '10de', deviceId: '1', classCode: '030000' }],
      firmware: { kind: 'uefi', secureBoot: 'on', vendor: 'Dell', version: '1.2', date: '01/01/2026' },
    } as unknown as Inventory;
    expect(toAgentAttributes(inventory)).toMatchObject({
      cpu: { totalCores: 16, processors: [{ id: 0, cores: 8, threads: 16 }, { id: 1 }] },
      memory: { total: '32GB', usable: '31GB' },
      block: [
        { name: 'nvme0n1', controllerType: 'NVMe', driveType: 'SSD', size: '512GB', wwn: 'eui.1' },
        { name: 'sda', controllerType: 'SCSI', driveType: 'HDD' },
      ],
      network: [{ name: 'eno1', speed: '1000Mb/s' }],
      gpu: [{ vendor: '10de' }],
      bios: { vendor: 'Dell', version: '1.2', releaseDate: '01/01/2026' },
      product: { name: 'R650', vendor: 'Dell Inc.', serialNumber: 'S1' },
    });
  });
});
