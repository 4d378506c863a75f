import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readAttributes } from '../../../agent/attributes/read-attributes.ts';
import { formatSize } from '../../../agent/attributes/size.ts';
import { machineFiles } from '../../../system/machine-files.ts';
import { MadeUpMachine } from '../inventory/hardware-zoo.ts';
import { MACHINES } from './machines.ts';

describe('attributes are what the library of tink-agent says', () => {
  const recorded = JSON.parse(
    readFileSync(new URL('./recorded-by-ghw.json', import.meta.url), 'utf8'),
  ) as Record<string, unknown>;

  // The Micro-OS has no graphics drivers, so there every display controller counts.
  const withoutGraphics = new Set([
    'Dell Precision 7920: SATA and NVMe, two cards, a Tesla without its driver',
  ]);

  it.each(Object.keys(MACHINES))('%s', (name) => {
    using machine = MACHINES[name]?.() ?? new MadeUpMachine();
    const attributes = readAttributes(machineFiles(machine.root));
    const told = withoutGraphics.has(name) ? { ...attributes, gpu: [] } : attributes;
    expect(told).toEqual(recorded[name]);
  });
});

describe('where tink-agent would know nothing', () => {
  it('a display controller counts as a graphics card if no driver of one is there', () => {
    using machine =
      MACHINES['Dell Precision 7920: SATA and NVMe, two cards, a Tesla without its driver']?.() ??
      new MadeUpMachine();
    expect(readAttributes(machineFiles(machine.root)).gpu).toEqual([
      { vendor: 'NVIDIA Corporation', product: 'TU104GL [Tesla T4]', class: 'Display controller' },
    ]);
  });

  it('disks have the words that udev would write', () => {
    using machine = new MadeUpMachine()
      .disk('sda', 'pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0', {
        mib: 1,
        device: { vendor: 'ATA     \n', model: 'Samsung SSD 860 EVO\n', wwid: 'naa.5002538e40a4b2c1\n' },
      })
      .disk('nvme0n1', 'pci0000:00/0000:02:00.0/nvme/nvme0', {
        mib: 1,
        block: { wwid: 'eui.0025385a01b0c2d3' },
        device: { model: 'Samsung SSD 970 EVO Plus 500GB\n', serial: 'S4EVNX0K\n' },
      })
      .disk('vda', 'pci0000:00/0000:00:04.0/virtio1', { mib: 1, block: { serial: 'root' } });
    expect(readAttributes(machineFiles(machine.root)).block).toMatchObject([
      { model: 'Samsung SSD 970 EVO Plus 500GB', wwn: 'eui.0025385a01b0c2d3', serialNumber: 'S4EVNX0K' },
      { model: 'Samsung_SSD_860_EVO', wwn: '0x5002538e40a4b2c1', serialNumber: 'unknown', vendor: 'ATA' },
      { model: 'unknown', wwn: 'unknown', serialNumber: 'root' },
    ]);
  });

  it('board and chassis come from their own SMBIOS structures if the kernel shows the table only', () => {
    const structure = (type: number, strings: string[]) =>
      Buffer.concat([
        Buffer.from([type, 8, type, 0, 1, 2, 3, 4]),
        Buffer.from(`${strings.join('\0')}\0\0`, 'latin1'),
      ]);
    using machine = new MadeUpMachine().file(
      '/sys/firmware/dmi/tables/DMI',
      Buffer.concat([
        structure(2, ['AMI Corporation', 'Aptio CRB', '1.0', 'B-1']),
        structure(3, ['Cases Ltd.', 'x', 'y', 'C-1']),
      ]),
    );
    expect(readAttributes(machineFiles(machine.root))).toMatchObject({
      baseboard: { vendor: 'AMI Corporation', product: 'Aptio CRB', version: '1.0', serialNumber: 'B-1' },
      chassis: { vendor: 'Cases Ltd.', serial: 'C-1' },
      product: { name: 'unknown' },
    });
  });
});

describe('sizes as tink-agent writes them', () => {
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
