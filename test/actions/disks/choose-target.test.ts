import type { Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseTargetDisk } from '../../../actions/disks/choose-target.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { Disk } from '../../../protocol/inventory.ts';
import fc from '../../seeds/fast-check.ts';
import { disk } from './disk-fixture.ts';

const codeOf = (body: () => unknown): string => {
  try {
    body();
    return 'no error';
  } catch (thrown) {
    return thrown instanceof KindlingError ? thrown.code : String(thrown);
  }
};

describe('the policy emf', () => {
  it('takes sd before nvme before the rest, the smaller first', () => {
    const disks = [
      disk({ name: 'vda', bus: 'virtio', sizeBytes: 1e9 }),
      disk({ name: 'nvme0n1', bus: 'nvme', sizeBytes: 2e9 }),
      disk({ name: 'sdb', sizeBytes: 9e9 }),
      disk({ name: 'sda', sizeBytes: 10e9 }),
    ];
    expect(chooseTargetDisk(disks).disk.name).toBe('sdb');
    expect(chooseTargetDisk(disks.slice(0, 2)).disk.name).toBe('nvme0n1');
    expect(chooseTargetDisk(disks.slice(0, 1)).disk.name).toBe('vda');
  });

  it.each([
    ['the boot medium', { isBootMedium: true }],
    ['a USB-SATA bridge that says it is not removable', { bus: 'usb' as const }],
    ['a removable disk', { isRemovable: true }],
    ['a disk over the network', { network: 'tcp' }],
    ['virtual media', { isVirtualMedia: true }],
    ['a read-only disk', { isReadOnly: true }],
    ['an empty card reader', { sizeBytes: 0 }],
    ['zram', { kind: 'zram' as const }],
    ['a loop device', { kind: 'loop' as const }],
    ['an eMMC boot area', { kind: 'mmc-boot' as const, sizeBytes: 4 << 20 }],
  ])('never takes %s, even as the only disk', (_, changes) => {
    expect(codeOf(() => chooseTargetDisk([disk({ name: 'sda', ...changes })]))).toBe('KND_DISK_NONE');
  });

  it('takes eMMC, virtio and SAS disks, which the EMT-S installer never does', () => {
    for (const name of ['mmcblk0', 'vda']) expect(chooseTargetDisk([disk({ name })]).disk.name).toBe(name);
    expect(chooseTargetDisk([disk({ name: 'sda', bus: 'sas' })]).disk.name).toBe('sda');
  });

  it('takes a disk over the network only if it is asked for one', () => {
    const disks = [disk({ name: 'nvme0n1', network: 'tcp', serial: 'N' })];
    expect(codeOf(() => chooseTargetDisk(disks, { selector: 'serial=N' }))).toBe('KND_DISK_NONE');
    expect(codeOf(() => chooseTargetDisk(disks, { selector: '!network' }))).toBe('KND_DISK_NONE');
    expect(chooseTargetDisk(disks, { selector: 'network, serial=N' }).disk.name).toBe('nvme0n1');
    expect(chooseTargetDisk(disks, { device: '/dev/nvme0n1' }).disk.name).toBe('nvme0n1');
    const here = disk({ name: 'sda' });
    expect(codeOf(() => chooseTargetDisk([here], { selector: 'network' }))).toBe('KND_DISK_NONE');
  });

  it('without any disk says so, instead of going on with /dev/', () => {
    expect(codeOf(() => chooseTargetDisk([]))).toBe('KND_DISK_NONE');
  });

  it('tells equal disks apart by their place, whatever the kernel calls them', () => {
    const left = { sizeBytes: 1e12, serial: 'B', links: ['by-path/pci-0000:00:1f.2-ata-1'] };
    const right = { sizeBytes: 1e12, serial: 'A', links: ['by-path/pci-0000:00:1f.2-ata-2'] };
    const monday = chooseTargetDisk([disk({ name: 'sda', ...left }), disk({ name: 'sdb', ...right })]);
    const tuesday = chooseTargetDisk([disk({ name: 'sda', ...right }), disk({ name: 'sdb', ...left })]);
    expect([monday.disk.serial, tuesday.disk.serial]).toEqual(['B', 'B']);
  });

  it('is an error that lists every candidate if nothing tells them apart', () => {
    const disks = [disk({ name: 'sda' }), disk({ name: 'sdb' }), disk({ name: 'sdc', bus: 'usb' })];
    expect(() => chooseTargetDisk(disks)).toThrowError(
      expect.objectContaining({
        code: 'KND_DISK_AMBIGUOUS',
        message: expect.stringMatching(/\+ \/dev\/sda.*\+ \/dev\/sdb.*- \/dev\/sdc.*attached by USB/s),
      }),
    );
  });
});

describe('DEST_DISK', () => {
  const disks = [
    disk({ name: 'sda', links: ['by-id/ata-Disk_1', 'by-path/pci-1'] }),
    disk({ name: 'sdb', bus: 'usb', isRemovable: true }),
    disk({ name: 'sdc', isBootMedium: true }),
    disk({ name: 'sr0', kind: 'cdrom' }),
  ];
  it.each([
    ['/dev/sda', 'sda'],
    ['/dev/disk/by-id/ata-Disk_1', 'sda'],
    ['/dev/disk/by-path/pci-1', 'sda'],
    ['/dev/sdb', 'sdb'],
  ])('%s names %s', (device, name) => {
    expect(chooseTargetDisk(disks, { device }).disk.name).toBe(name);
  });

  it.each([
    ['/dev/sdc', 'KND_DISK_REFUSED'],
    ['/dev/sr0', 'KND_DISK_REFUSED'],
    ['/dev/sdz', 'KND_DISK_NOT_FOUND'],
    ['/dev/', 'KND_DISK_NOT_FOUND'],
  ])('%s is refused with %s', (device, code) => {
    expect(codeOf(() => chooseTargetDisk(disks, { device }))).toBe(code);
  });
});

describe('a selector', () => {
  const disks = [
    disk({
      name: 'sda',
      serial: 'S1',
      model: 'Samsung SSD 870',
      sizeBytes: 500_107_862_016,
      wwn: 'naa.5001',
    }),
    disk({ name: 'sdb', serial: 'W2', model: 'WDC WD40', sizeBytes: 4e12, isRotational: true }),
    disk({
      name: 'nvme0n1',
      bus: 'nvme',
      serial: 'N3',
      model: 'KIOXIA',
      sizeBytes: 960e9,
      partitionTable: 'gpt',
    }),
    disk({ name: 'sdd', bus: 'usb', serial: 'U4', model: 'Stick', sizeBytes: 32e9 }),
  ];
  it.each([
    ['serial=S1', 'sda'],
    ['wwn=5001', 'sda'],
    ['model="samsung ssd*"', 'sda'],
    ['hdd', 'sdb'],
    ['bus=nvme', 'nvme0n1'],
    ['size=500G', 'sda'],
    ['size>=1T', 'sdb'],
    ['ssd,size>600G', 'nvme0n1'],
    ['ssd !empty', 'nvme0n1'],
    ['largest', 'sdb'],
    ['smallest', 'sda'],
    ['serial!=S1, ssd', 'nvme0n1'],
  ])('%s selects %s', (selector, name) => {
    expect(chooseTargetDisk(disks, { selector }).disk.name).toBe(name);
  });

  it.each([
    ['ssd', 'KND_DISK_AMBIGUOUS'],
    ['serial=U4', 'KND_DISK_NONE'],
    ['serial=nobody', 'KND_DISK_NONE'],
    ['color=red', 'KND_DISK_SELECTOR'],
    ['size>3X', 'KND_DISK_SELECTOR'],
    ['model="open', 'KND_DISK_SELECTOR'],
    [' ', 'KND_DISK_SELECTOR'],
  ])('%j fails with %s', (selector, code) => {
    expect(codeOf(() => chooseTargetDisk(disks, { selector }))).toBe(code);
  });
});

describe('over thousands of machines', () => {
  const anyDisk = fc.record({
    kind: fc.constantFrom<Disk['kind']>('disk', 'disk', 'disk', 'loop', 'zram', 'mmc-boot', 'cdrom'),
    family: fc.constantFrom('sd', 'nvme', 'vd', 'mmcblk'),
    sizeBytes: fc.constantFrom(0, 4 << 20, 32e9, 500e9, 500e9, 1e12),
    serial: fc.option(fc.string({ minLength: 1, maxLength: 3 }), { nil: undefined }),
    place: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
    isUsb: fc.boolean(),
    isRemovable: fc.boolean(),
    isBootMedium: fc.boolean(),
    isVirtualMedia: fc.boolean(),
    isReadOnly: fc.boolean(),
  });
  const anyMachine = fc.array(anyDisk, { maxLength: 8 });
  const anyRequest = fc.constantFrom(
    {},
    { selector: 'smallest' },
    { selector: 'ssd' },
    { selector: 'size>=100G' },
  );

  const build = (
    machine: (typeof anyDisk extends Arbitrary<infer D> ? D : never)[],
    order: number[],
  ): Disk[] => {
    const count: Record<string, number> = {};
    return order.map((index) => {
      const { family, serial, place, isUsb, ...rest } = machine[index] as (typeof machine)[number];
      count[family] = (count[family] ?? 0) + 1;
      const number = count[family];
      const name =
        family === 'sd' || family === 'vd'
          ? `${family}${String.fromCharCode(96 + number)}`
          : family === 'nvme'
            ? `nvme${number}n1`
            : `mmcblk${number}`;
      return disk({
        name,
        ...rest,
        bus: isUsb ? 'usb' : 'sata',
        model: `disk ${index}`,
        ...(serial === undefined ? {} : { serial }),
        links: place === undefined ? [] : [`by-path/pci-${place}`],
      });
    });
  };

  it('the choice is never a forbidden disk, and the same disk however the kernel numbered them', () => {
    fc.assert(
      fc.property(
        anyMachine.chain((machine) =>
          fc.tuple(
            fc.constant(machine),
            fc.shuffledSubarray([...machine.keys()], { minLength: machine.length }),
            fc.shuffledSubarray([...machine.keys()], { minLength: machine.length }),
          ),
        ),
        anyRequest,
        ([machine, monday, tuesday], request) => {
          const outcome = (disks: Disk[]) => {
            try {
              return chooseTargetDisk(disks, request).disk;
            } catch (thrown) {
              return (thrown as KindlingError).code;
            }
          };
          const [first, second] = [outcome(build(machine, monday)), outcome(build(machine, tuesday))];
          if (typeof first === 'string' || typeof second === 'string') {
            expect(second).toBe(first);
            expect(['KND_DISK_NONE', 'KND_DISK_AMBIGUOUS']).toContain(first);
            return;
          }
          expect(second.model).toBe(first.model);
          expect(first).toMatchObject({
            kind: 'disk',
            isRemovable: false,
            isBootMedium: false,
            isVirtualMedia: false,
            isReadOnly: false,
            bus: 'sata',
          });
          expect(first.sizeBytes).toBeGreaterThan(0);
        },
      ),
      { numRuns: 5000 },
    );
  });
});
