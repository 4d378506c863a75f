import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findDisk } from '../../../actions/disks/choose-target.ts';
import { describePlan, planFor } from '../../../actions/disks/plan.ts';
import { describeInventory } from '../../../agent/inventory/describe.ts';
import { driverless } from '../../../agent/inventory/pci.ts';
import { takeInventory } from '../../../agent/inventory/take-inventory.ts';
import type { Inventory } from '../../../protocol/inventory.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';
import { machineFiles } from '../../../system/machine-files.ts';
import { buildTable, entryPoint } from '../identity/smbios/smbios-table.ts';
import { MadeUpMachine, vitalDataPage } from './hardware-zoo.ts';

const inventoryOf = (machine: MadeUpMachine, kernelLine = ''): Promise<Inventory> =>
  takeInventory(machineFiles(machine.root), parseKernelArguments(kernelLine));

const NIC_DEVICE = '/sys/devices/pci0000:00/0000:00:03.0';
function machine(): MadeUpMachine {
  return new MadeUpMachine()
    .dmi({
      product_uuid: '4C4C4544-0033-3510-8052-B4C04F4D4D32',
      product_serial: '535R4M2',
      sys_vendor: 'Dell Inc.',
      bios_vendor: 'Dell Inc.',
    })
    .pci('0000:00:03.0', { vendor: '0x8086', device: '0x1521', class: '0x020000', driver: 'igb' })
    .nic('eno1', NIC_DEVICE, { address: '00:1b:21:00:00:01', carrier: '1', speed: '1000' });
}

test('CPU: sockets, cores and threads are counted apart', async () => {
  const thread = (processor: number, socket: number, core: number) =>
    `processor\t: ${processor}\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nphysical id\t: ${socket}\ncore id\t\t: ${core}\nflags\t\t: fpu aes\n`;
  using box = machine().file(
    '/proc/cpuinfo',
    [thread(0, 0, 0), thread(1, 0, 1), thread(2, 0, 0), thread(3, 1, 0)].join('\n'),
  );
  expect((await inventoryOf(box)).cpu).toMatchObject({
    model: 'Xeon',
    vendor: 'GenuineIntel',
    sockets: 2,
    cores: 3,
    threads: 4,
    flags: ['fpu', 'aes'],
  });
});

test('memory: what the kernel has, and the modules of SMBIOS', async () => {
  const module = {
    type: 17,
    length: 40,
    words: { 12: 16384 },
    bytes: { 18: 0x22 },
    strings: { 16: 'DIMM A1' },
  };
  using box = machine()
    .file('/proc/meminfo', 'MemTotal:       32768000 kB\nMemFree: 1 kB\n')
    .file('/sys/firmware/dmi/tables/DMI', buildTable([module, { type: 17, length: 40 }, module]));
  expect((await inventoryOf(box)).memory).toEqual({
    totalBytes: 32_768_000 * 1024,
    modules: [module, module].map(() => ({ sizeBytes: 16 * 2 ** 30, locator: 'DIMM A1', type: 'DDR5' })),
  });
});

test('where sysfs is silent, identity comes from the raw table', async () => {
  using box = new MadeUpMachine().file('/sys/firmware/dmi/tables/smbios_entry_point', entryPoint(3, 2)).file(
    '/sys/firmware/dmi/tables/DMI',
    buildTable([
      { type: 0, length: 24, strings: { 4: 'Phoenix', 5: '1.2', 8: '01/02/2024' } },
      {
        type: 1,
        length: 27,
        strings: { 4: 'Maker', 5: 'Box', 7: 'SN-0815' },
        raw: { 8: Buffer.from('00112233445566778899aabbccddee01', 'hex') },
      },
    ]),
  );
  const { identity, firmware } = await inventoryOf(box);
  expect(identity).toMatchObject({
    uuid: '33221100-5544-7766-8899-aabbccddee01',
    serial: 'SN-0815',
    manufacturer: 'Maker',
  });
  expect(firmware).toMatchObject({ vendor: 'Phoenix', version: '1.2', date: '01/02/2024' });
});

test('an NVMe disk', async () => {
  using box = machine().disk('nvme0n1', 'pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1', {
    mib: 64,
    block: { wwid: 'eui.0025388b01234567' },
    device: { model: 'Samsung SSD 980 PRO 1TB   ', serial: 'S5GXNX0R123456  ' },
  });
  expect((await inventoryOf(box)).disks[0]).toMatchObject({
    name: 'nvme0n1',
    path: '/dev/nvme0n1',
    kind: 'disk',
    bus: 'nvme',
    sizeBytes: 64 * 2 ** 20,
    model: 'Samsung SSD 980 PRO 1TB',
    serial: 'S5GXNX0R123456',
    wwn: 'eui.0025388b01234567',
    links: [
      'by-id/nvme-Samsung_SSD_980_PRO_1TB_S5GXNX0R123456',
      'by-id/nvme-Samsung_SSD_980_PRO_1TB_S5GXNX0R123456_1',
      'by-id/nvme-eui.0025388b01234567',
      'by-path/pci-0000:01:00.0-nvme-1',
    ],
  });
});

test('a SATA disk: serial and name from its vital data', async () => {
  const naa = Buffer.from('5000c50015ea71ac', 'hex');
  const page83 = vitalDataPage(
    0x83,
    Buffer.concat([
      Buffer.from([0x02, 0x01, 0, 4]),
      Buffer.from('ATA '),
      Buffer.from([0x01, 0x03, 0, naa.length]),
      naa,
    ]),
  );
  using box = machine()
    .pci('0000:00:1f.2', { vendor: '0x8086', device: '0x2922', class: '0x010601', driver: 'ahci' })
    .file('/sys/devices/pci0000:00/0000:00:1f.2/ata3/ata_port/ata3/port_no', '3\n')
    .disk('sda', 'pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0', {
      mib: 64,
      block: { 'queue/rotational': '1', 'queue/logical_block_size': '4096' },
      device: {
        model: 'ST4000NM0035    ',
        vendor: 'ATA     ',
        type: '0',
        vpd_pg80: vitalDataPage(0x80, Buffer.from('   ZC1234AB')),
        vpd_pg83: page83,
      },
    });
  expect((await inventoryOf(box)).disks[0]).toMatchObject({
    bus: 'sata',
    serial: 'ZC1234AB',
    wwn: 'naa.5000c50015ea71ac',
    isRotational: true,
    logicalSectorBytes: 4096,
    links: [
      'by-id/ata-ST4000NM0035_ZC1234AB',
      'by-id/wwn-0x5000c50015ea71ac',
      'by-path/pci-0000:00:1f.2-ata-3.0',
      'by-path/pci-0000:00:1f.2-ata-3',
    ],
  });
});

test.each<[string, string, string, object]>([
  ['vda', 'pci0000:00/0000:00:04.0/virtio1', 'virtio', { serial: undefined }],
  ['sdb', 'pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0', 'usb', {}],
  ['sdc', 'pci0000:00/0000:00:05.0/virtio2/host3/target3:0:1/3:0:1:0', 'scsi', {}],
  ['sdd', 'pci0000:00/0000:02:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0', 'sas', {}],
  ['mmcblk0', 'pci0000:00/0000:00:1c.0/mmc_host/mmc0/mmc0:0001', 'mmc', {}],
  ['xvda', 'vbd-768', 'xen', {}],
])('%s at %s is on %s', async (name, path, bus) => {
  using box = machine().disk(name, path, { mib: 1 });
  expect((await inventoryOf(box)).disks[0]).toMatchObject({ name, bus, kind: 'disk' });
});

test('ATA ports are counted by their controller, as udev does, not by the kernel', async () => {
  const second = 'pci0000:00/0000:00:17.0';
  const port = (name: string, number: string) =>
    [`/sys/devices/${second}/${name}/ata_port/${name}/port_no`, `${number}\n`] as const;
  using box = machine()
    .pci('0000:00:17.0', { vendor: '0x8086', device: '0xa182', class: '0x010601', driver: 'ahci' })
    .file(...port('ata7', '1'))
    .file(...port('ata13', '7'))
    .disk('sda', `${second}/ata7/host6/target6:0:0/6:0:0:0`, { mib: 1 })
    .disk('sdb', `${second}/ata13/host12/target12:0:0/12:0:0:0`, { mib: 1 })
    .disk('sdc', `${second}/ata13/host12/target12:2:0/12:2:0:0`, { mib: 1 })
    .disk('sdd', `${second}/ata14/host13/target13:0:0/13:0:0:0`, { mib: 1 });
  const { disks } = await inventoryOf(box);
  const base = 'by-path/pci-0000:00:17.0-ata';
  expect(disks.map(({ links }) => links.filter((link) => link.startsWith('by-path/')))).toEqual([
    [`${base}-1.0`, `${base}-1`],
    [`${base}-7.0`, `${base}-7`],
    [`${base}-7.2.0`, `${base}-7`],
    [], // a kernel that does not tell: no name is better than another disk's
  ]);
  expect(findDisk(disks, `/dev/disk/${base}-1`)?.name).toBe('sda');
  expect(findDisk(disks, `/dev/disk/${base}-7.0`)?.name).toBe('sdb');
  expect(() => findDisk(disks, `/dev/disk/${base}-7`)).toThrowError(
    expect.objectContaining({ code: 'KND_DISK_AMBIGUOUS', message: expect.stringMatching(/sdb.*sdc/s) }),
  );
});

test('a disk that cannot be read is no empty disk', async () => {
  using box = machine().disk('sda', 'pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0', { mib: 1 });
  rmSync(join(box.root, 'dev/sda'));
  mkdirSync(join(box.root, 'dev/sda')); // opens, and fails to be read
  expect((await inventoryOf(box)).disks[0]).toMatchObject({ signatures: [{ type: 'unreadable' }] });
});

test('a stick behind a hub has the serial number of its USB device', async () => {
  using box = machine()
    .file('/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1.4/serial', '4C530001\n')
    .disk('sdb', 'pci0000:00/0000:00:14.0/usb2/2-1/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0', { mib: 1 });
  expect((await inventoryOf(box)).disks[0]).toMatchObject({ bus: 'usb', serial: '4C530001' });
});

test('a parallel ATA controller is IDE, by its PCI class', async () => {
  using box = machine()
    .pci('0000:00:01.1', { vendor: '0x8086', device: '0x7010', class: '0x010180' })
    .disk('sda', 'pci0000:00/0000:00:01.1/ata1/host0/target0:0:0/0:0:0:0', { mib: 1 });
  expect((await inventoryOf(box)).disks[0]?.bus).toBe('ide');
});

test.each([
  ['loop0', 'loop'],
  ['ram0', 'ram'],
  ['zram0', 'zram'],
  ['dm-0', 'device-mapper'],
  ['md127', 'md'],
  ['bcache0', 'bcache'],
  ['sr0', 'cdrom'],
  ['fd0', 'floppy'],
  ['nbd0', 'nbd'],
  ['mmcblk0boot0', 'mmc-boot'],
])('%s is no disk but %s', async (name, kind) => {
  using box = machine().disk(name, 'virtual', { mib: 1 });
  expect((await inventoryOf(box)).disks[0]?.kind).toBe(kind);
});

test('a drive without a medium is left out', async () => {
  using box = machine().disk('sr0', 'virtual', { mib: 0 });
  expect((await inventoryOf(box)).disks).toEqual([]);
});

test.each([
  ['AMI', 'Virtual CDROM0', true],
  ['iDRAC', 'Virtual Floppy', true],
  ['Linux-BMC', 'USB Disk', true],
  ['SanDisk', 'Cruzer', false],
])('a USB device %s %s: virtual media %s', async (vendor, model, expected) => {
  using box = machine().disk('sdb', 'pci0000:00/0000:00:14.0/usb2/2-1/host6/target6:0:0/6:0:0:0', {
    mib: 1,
    device: { vendor, model },
  });
  expect((await inventoryOf(box)).disks[0]?.isVirtualMedia).toBe(expected);
});

test('a disk of a hypervisor is virtual and yet a proper disk', async () => {
  using box = machine().disk('sda', 'LNXSYSTM:00/host0/target0:0:0/0:0:0:0', {
    mib: 1,
    device: { vendor: 'Msft', model: 'Virtual Disk' },
  });
  expect((await inventoryOf(box)).disks[0]?.isVirtualMedia).toBe(false);
});

test('a disk over the network says so; one path to it is no disk', async () => {
  using box = machine()
    .disk('nvme0n1', 'virtual/nvme-fabrics/ctl/nvme0', { mib: 1, device: { transport: 'tcp' } })
    .disk('nvme1n1', 'virtual/nvme-subsystem/nvme-subsys1', { mib: 1, device: { 'nvme1/transport': 'rdma' } })
    .disk('nvme1c1n1', 'virtual/nvme-fabrics/ctl/nvme1', { mib: 1, block: { hidden: '1' } })
    .disk('nvme2n1', 'pci0000:00/0000:00:1d.0/nvme/nvme2', { mib: 1, device: { transport: 'pcie' } })
    .disk('sda', 'platform/host3/session1/target3:0:0/3:0:0:0', { mib: 1 })
    .disk('sdb', 'pci0000:00/0000:00:1e.0/host4/rport-4:0-0/target4:0:0/4:0:0:0', { mib: 1 });
  const disks = (await inventoryOf(box)).disks.map(({ name, network }) => [name, network]);
  expect(disks).toEqual([
    ['nvme0n1', 'tcp'],
    ['nvme1n1', 'rdma'],
    ['nvme2n1', undefined],
    ['sda', 'iscsi'],
    ['sdb', 'fc'],
  ]);
});

test('NICs: permanent MAC, link, speed, driver, and which one booted', async () => {
  using box = machine()
    .pci('0000:00:04.0', { vendor: '0x8086', device: '0x1521', class: '0x020000', driver: 'igb' })
    .nic('eno2', '/sys/devices/pci0000:00/0000:00:04.0', {
      address: '00:1b:21:00:00:99',
      addr_assign_type: '3',
      carrier: '0',
      speed: '-1',
    })
    .file('/sys/class/net/lo/type', '772')
    .file('/sys/class/net/br0/type', '1');
  const { nics } = await inventoryOf(box, 'BOOTIF=01-00-1b-21-00-00-01');
  expect(nics).toEqual([
    {
      name: 'eno1',
      mac: '00:1b:21:00:00:01',
      permanentMac: '00:1b:21:00:00:01',
      hasLink: true,
      speedMbps: 1000,
      mtu: 1500,
      addresses: [],
      pciAddress: '0000:00:03.0',
      isBootNic: true,
      driver: 'igb',
    },
    {
      name: 'eno2',
      mac: '00:1b:21:00:00:99',
      hasLink: false,
      mtu: 1500,
      addresses: [],
      pciAddress: '0000:00:04.0',
      isBootNic: false,
      driver: 'igb',
    },
  ]);
});

test('the members of a bond keep their own addresses', async () => {
  using box = machine().file(
    '/proc/net/bonding/bond0',
    'Ethernet Channel Bonding Driver\n\nSlave Interface: eno1\nMII Status: up\nPermanent HW addr: 00:1b:21:00:00:77\nSlave queue ID: 0\n',
  );
  expect((await inventoryOf(box)).nics[0]?.permanentMac).toBe('00:1b:21:00:00:77');
});

test('storage and network devices without a driver are found', async () => {
  using box = machine()
    .pci('0000:05:00.0', { vendor: '0x14e4', device: '0x16d7', class: '0x020000' })
    .pci('0000:06:00.0', { vendor: '0x1234', device: '0x1111', class: '0x030000' });
  const inventory = await inventoryOf(box);
  expect(driverless(inventory.pci)).toEqual([
    {
      what: 'network card',
      device: { address: '0000:05:00.0', vendorId: '14e4', deviceId: '16d7', classCode: '020000' },
    },
  ]);
  expect(describeInventory(inventory)).toContain('network card 14e4:16d7 at 0000:05:00.0');
});

test.each<[string, number | undefined, number | undefined, string]>([
  ['on', 1, 0, 'on'],
  ['off', 0, 0, 'off'],
  ['in set-up mode', 0, 1, 'setup-mode'],
  ['said to be on by a firmware that enforces nothing', 1, 1, 'setup-mode'],
  ['unknown to the firmware', undefined, undefined, 'unsupported'],
])('Secure Boot %s', async (_name, secureBoot, setupMode, expected) => {
  using box = machine().file('/sys/firmware/efi/fw_platform_size', '64');
  if (secureBoot !== undefined) box.efiVariable('SecureBoot', Buffer.from([secureBoot]));
  if (setupMode !== undefined) box.efiVariable('SetupMode', Buffer.from([setupMode]));
  expect((await inventoryOf(box)).firmware).toMatchObject({ kind: 'uefi', secureBoot: expected });
});

test('TPM 2.0 and 1.2', async () => {
  using newer = machine().file('/sys/class/tpm/tpm0/tpm_version_major', '2');
  using older = machine().file(
    '/sys/class/tpm/tpm0/device/caps',
    'Manufacturer: 0x49465800\nTCG version: 1.2\n',
  );
  expect((await inventoryOf(newer)).tpm).toEqual({ version: '2.0' });
  expect((await inventoryOf(older)).tpm).toEqual({ version: '1.2', manufacturer: 'IFX' });
});

test('a machine that tells nearly nothing still has an inventory', async () => {
  using box = new MadeUpMachine().nic('eth0', '/sys/devices/platform/nic', { address: '00:1b:21:00:00:01' });
  const inventory = await inventoryOf(box);
  expect(inventory).toMatchObject({ disks: [], firmware: { kind: 'bios', secureBoot: 'unsupported' } });
  expect(describeInventory(inventory)).toContain('eth0');
});

test('a disk has the same size in the inventory and in the plan to destroy it', async () => {
  using box = machine().disk('sda', 'pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0', { mib: 1300 });
  const inventory = await inventoryOf(box);
  const [disk] = inventory.disks;
  if (!disk) throw new Error('the machine has no disk');
  expect(describeInventory(inventory)).toMatch(/sda +1\.3 GiB/);
  expect(describePlan(planFor('write', [disk], [])).join('\n')).toContain('1.3 GiB');
});
