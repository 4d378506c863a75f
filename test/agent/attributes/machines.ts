import { MadeUpMachine } from '../inventory/hardware-zoo.ts';

/**
 * Machines whose attributes the library of tink-agent has judged. Names, versions and placeholders are those of real boards;
 * serial numbers are made up.
 */
export const MACHINES: Record<string, () => MadeUpMachine> = {
  'Dell Precision 7920: SATA and NVMe, two cards, a Tesla without its driver': () =>
    machine()
      .dmi({
        ...bios('Dell Inc.', '2.9.0', '08/21/2020'),
        ...system('Dell Inc.', 'Precision 7920 Tower', '7FKX2R2'),
        ...board('Dell Inc.', '060K5C', 'A04', '/7FKX2R2/CNPE10089S00A7/'),
        ...chassis('Dell Inc.', '7FKX2R2'),
      })
      .cpu({ sockets: 1, cores: 8, threadsPerCore: 2, fields: intel('Gold 6234 CPU @ 3.30GHz') })
      .memory({ blocks: 32, blockMib: 2048, usableKib: 65_586_436 })
      .pci('0000:00:17.0', { vendor: '0x8086', device: '0xa352', class: '0x010601', driver: 'ahci' })
      .pci('0000:02:00.0', { vendor: '0x144d', device: '0xa808', class: '0x010802', driver: 'nvme' })
      .pci('0000:0a:00.0', { vendor: '0x10de', device: '0x1eb8', class: '0x030200' })
      .pci('0000:10:00.0', { vendor: '0x8086', device: '0x1533', class: '0x020000', driver: 'igb' })
      .nic('eno2', `${PCI}/0000:10:00.0`, { address: 'e4:54:e8:01:02:03', speed: '1000' })
      .nic('eno10', `${PCI}/0000:10:00.1`, { address: 'e4:54:e8:01:02:04', speed: '-1' })
      .disk('sda', 'pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0', {
        mib: 1,
        block: { size: '15628052480', dev: '8:0', 'queue/rotational': '1' },
        device: { vendor: 'ATA     \n', model: 'TOSHIBA MG06ACA8\n' },
      })
      .udev('8:0', {
        ID_MODEL: 'TOSHIBA_MG06ACA800E',
        ID_SERIAL: 'TOSHIBA_MG06ACA800E_88N0A0J7F1QF',
        ID_SERIAL_SHORT: '88N0A0J7F1QF',
        ID_WWN: '0x500003988801a2b3',
      })
      .disk('nvme0n1', 'pci0000:00/0000:02:00.0/nvme/nvme0', {
        mib: 1,
        block: { size: '1000214528', dev: '259:0', 'queue/physical_block_size': '512' },
        device: { model: 'PC SN720 NVMe WDC 512GB\n', serial: '190234A00A1B\n' },
      })
      .udev('259:0', {
        ID_MODEL: 'PC SN720 NVMe WDC 512GB',
        ID_SERIAL_SHORT: '190234A00A1B',
        ID_WWN: 'eui.e8238fa6bf530001001b444a49a1b2c3',
      }),

  'Huawei RH1288 V3: two sockets, a bond whose members changed their addresses': () =>
    machine()
      .dmi({
        ...bios('Insyde Corp.', '5.13', '04/11/2019'),
        ...system('Huawei', 'RH1288 V3', '2102310QPD10J2000123'),
        ...board('Huawei', 'BC11HGSC0', 'V100R003', '022HLV10J2001234'),
        ...chassis('Huawei', '2102310QPD10J2000123'),
      })
      .cpu({ sockets: 2, cores: 14, threadsPerCore: 2, fields: intel('CPU E5-2680 v4 @ 2.40GHz') })
      .memory({ blocks: 128, blockMib: 2048, usableKib: 263_847_152 })
      .pci('0000:02:00.0', {
        vendor: '0x1000',
        device: '0x005d',
        class: '0x010400',
        driver: 'megaraid_sas',
      })
      .pci('0000:04:00.0', { vendor: '0x8086', device: '0x10fb', class: '0x020000', driver: 'ixgbe' })
      .pci('0000:09:00.0', { vendor: '0x19e5', device: '0x1711', class: '0x030000', driver: 'hibmc-drm' })
      .link('/sys/class/drm/card0', `${PCI}/0000:09:00.0/drm/card0`)
      .link('/sys/class/drm/card0-VGA-1', `${PCI}/0000:09:00.0/drm/card0/card0-VGA-1`)
      .nic('enp4s0f0', `${PCI}/0000:04:00.0`, {
        address: '2c:97:b1:00:11:22',
        addr_assign_type: '3',
        speed: '10000',
      })
      .nic('bond0', '/sys/devices/virtual', {
        address: '2c:97:b1:00:11:22',
        addr_assign_type: '3',
        speed: '10000',
      })
      .file('/sys/class/net/bonding_masters', 'bond0\n')
      .disk('sda', 'pci0000:00/0000:02:00.0/host0/target0:2:0/0:2:0:0', {
        mib: 1,
        block: {
          size: '1169920000',
          dev: '8:0',
          'queue/rotational': '1',
          'queue/physical_block_size': '512',
        },
        device: { vendor: 'AVAGO   \n', model: 'HW-SAS3108      \n' },
      })
      .udev('8:0', {
        ID_MODEL: 'HW-SAS3108',
        ID_SERIAL: '36101b5442bcc70002d1e5a1b0c2d3e4f',
        ID_SERIAL_SHORT: '6101b5442bcc70002d1e5a1b0c2d3e4f',
        ID_SCSI_SERIAL: '004f3e2d0c1b5a1e2d0070cc2b44b501',
        ID_WWN: '0x6101b5442bcc7000',
        ID_WWN_WITH_EXTENSION: '0x6101b5442bcc70002d1e5a1b0c2d3e4f',
      }),

  'Cisco UCS C240: threads that are switched off': () =>
    machine()
      .dmi({
        ...bios('Cisco Systems, Inc.', 'C240M4.2.0.10m.0.1216161715', '12/16/2016'),
        ...system('Cisco Systems Inc', 'UCSC-C240-M4L', 'FCH2010V0AB'),
        ...board('Cisco Systems Inc', 'UCSC-C240-M4L', '74-12420-01', 'FCH20087XYZ'),
        ...chassis('Cisco Systems Inc', 'FCH2010V0AB'),
      })
      .cpu({
        sockets: 2,
        cores: 12,
        threadsPerCore: 2,
        fields: intel('CPU E5-2680 v3 @ 2.50GHz'),
        offline: [1, 3, 24, 25],
      })
      .memory({ blocks: 64, blockMib: 2048, usableKib: 131_927_616 })
      .pci('0000:81:00.0', { vendor: '0x8086', device: '0x1521', class: '0x020000', driver: 'igb' })
      .nic('enp129s0f0', `${PCI}/0000:81:00.0`, { address: '70:db:98:aa:bb:cc', speed: '1000' }),

  'Dell EMC Edge Gateway 3200: a placeholder as the name of the board, eMMC': () =>
    machine()
      .dmi({
        ...bios('American Megatrends Inc.', '1.01.10', '03/15/2022'),
        ...system('Dell EMC', 'Edge Gateway 3200', 'J2X0K13'),
        ...board('Dell EMC', '0d370eed-89ca-4dc0-a365-e9904c4c62bb', 'Rev, A01', ''),
        ...chassis('Dell EMC', 'J2X0K13'),
      })
      .cpu({ sockets: 1, cores: 4, threadsPerCore: 1, fields: intel('Atom(R) x6425RE @ 1.90GHz') })
      .memory({ blocks: 64, usableKib: 7_900_412 })
      .disk('mmcblk0', 'pci0000:00/0000:00:1a.0/mmc_host/mmc0/mmc0:0001', {
        mib: 1,
        block: { size: '122142720', dev: '179:0' },
        device: { name: 'DA4064\n', serial: '0x2f1a9c3e\n' },
      })
      .udev('179:0', { ID_NAME: 'DA4064', ID_SERIAL: '0x2f1a9c3e' })
      .disk('mmcblk0boot0', 'pci0000:00/0000:00:1a.0/mmc_host/mmc0/mmc0:0001/b0', {
        mib: 4,
        block: { dev: '179:8' },
      }),

  'Compulab fitlet2: an eSATA stick, a wireless card, a bridge of containers': () =>
    machine()
      .dmi({
        ...bios('American Megatrends Inc.', 'FLT2.0.46.01.00', '09/17/2018'),
        ...system('Compulab', 'fitlet2', '44-00123'),
        ...board('Compulab', 'fitlet2', '1.1', '44-00123'),
        ...chassis('Compulab', '44-00123'),
      })
      .cpu({ sockets: 1, cores: 4, threadsPerCore: 1, fields: intel('Atom(TM) Processor E3950 @ 1.60GHz') })
      .memory({ blocks: 31, usableKib: 3_912_840 })
      .pci('0000:00:00.0', { vendor: '0x8086', device: '0x5af0', class: '0x060000' })
      .pci('0000:00:02.0', { vendor: '0x8086', device: '0x5a85', class: '0x030000', driver: 'i915' })
      .link('/sys/class/drm/card0', `${PCI}/0000:00:02.0/drm/card0`)
      .nic('enp1s0', `${PCI}/0000:01:00.0`, { address: '00:01:c0:1f:2e:3d', speed: '100' })
      .nic('docker0', '/sys/devices/virtual', { address: '02:42:0a:0b:0c:0d', addr_assign_type: '1' })
      .nic('enp1s0.42', '/sys/devices/virtual', {
        address: '00:01:c0:1f:2e:3d',
        addr_assign_type: '2',
        speed: '100',
      }),

  'Supermicro A1SAi: placeholders as an owner left them': () =>
    machine()
      .dmi({
        ...bios('American Megatrends Inc.', '1.0c', '02/27/2014'),
        ...system('Supermicro', 'A1SAi', '0123456789'),
        ...board('Supermicro', 'A1SAi', '123456789', 'ZM141S012345'),
        ...chassis('To Be Filled By O.E.M.', 'To Be Filled By O.E.M.'),
      })
      .cpu({ sockets: 1, cores: 8, threadsPerCore: 1, fields: intel('Atom(TM) CPU  C2750  @ 2.41GHz') })
      .memory({ blocks: 128, usableKib: 16_318_900 })
      .pci('0000:00:14.0', { vendor: '0x8086', device: '0x1f41', class: '0x020000', driver: 'igb' })
      .pci('0000:00:14.1', { vendor: '0x8086', device: '0xffff', class: '0x020000' })
      .pci('0000:00:15.0', { vendor: '0xabcd', device: '0x0001', class: '0x990000' })
      .pci('0000:03:00.0', { vendor: '0x1a03', device: '0x2000', class: '0x030000', driver: 'ast' })
      .link('/sys/class/drm/card0', `${PCI}/0000:03:00.0/drm/card0`)
      .disk('sr0', 'pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0', {
        mib: 0,
        block: { dev: '11:0', removable: '1', 'queue/rotational': '1', 'queue/physical_block_size': '2048' },
        device: { vendor: 'HL-DT-ST\n', model: 'DVDRAM GU90N    \n' },
      })
      .udev('11:0', { ID_MODEL: 'HL-DT-ST_DVDRAM_GU90N', ID_SERIAL: 'HL-DT-ST_DVDRAM_GU90N_KZLK2A1234' }),

  'Sophos SG: no udev, no speed, hidden serial numbers': () =>
    machine()
      .dmi({
        ...bios('American Megatrends Inc.', '5.6.5', '09/04/2014'),
        product_name: 'SG',
        sys_vendor: 'Sophos',
        board_vendor: 'To be filled by O.E.M.',
        board_name: 'To be filled by O.E.M.',
        board_version: 'To be filled by O.E.M.',
        chassis_vendor: 'To Be Filled By O.E.M.',
      })
      .cpu({ sockets: 1, cores: 2, threadsPerCore: 1, fields: intel('Atom(TM) CPU  C2358  @ 1.74GHz') })
      .file('/proc/meminfo', 'MemTotal:        3982104 kB\n')
      .nic('eth0', `${PCI}/0000:00:14.0`, { address: '00:1a:8c:10:20:30' }),

  'Gigabyte with an Ampere Altra: 80 cores of ARM with SMBIOS': () =>
    machine()
      .dmi({
        ...bios('GIGABYTE', 'F18w16 (SCP: 1.08.20211002)', '05/06/2022'),
        ...system('GIGABYTE', 'MP32-AR1-SW-HZ-001', 'GLG4P9912A0001'),
        ...board('GIGABYTE', 'MP32-AR1-00', '01010101', 'LG4P9912A0001'),
        ...chassis('GIGABYTE', 'GLG4P9912A0001'),
      })
      .cpu({
        sockets: 1,
        cores: 80,
        threadsPerCore: 1,
        fields: { BogoMIPS: '50.00', Features: 'fp asimd evtstrm aes', 'CPU implementer': '0x41' },
      })
      .memory({ blocks: 64, blockMib: 2048, usableKib: 131_593_216 })
      .pci('000c:01:00.0', { vendor: '0x15b3', device: '0x1015', class: '0x020000', driver: 'mlx5_core' })
      .pci('0000:00:00.0', { vendor: '0x1def', device: '0xe100', class: '0x060000' }),

  'a board with a device tree and no SMBIOS': () =>
    machine()
      .file('/sys/firmware/devicetree/base/model', 'Raspberry Pi 4 Model B Rev 1.4\0')
      .file('/sys/firmware/devicetree/base/serial-number', '10000000196f8c53\0')
      .file('/sys/firmware/devicetree/base/compatible', 'raspberrypi,4-model-b\0brcm,bcm2711\0')
      .file('/sys/firmware/devicetree/base/chosen/u-boot,version', '2026.04\0')
      .cpu({
        sockets: 1,
        cores: 4,
        threadsPerCore: 1,
        fields: { BogoMIPS: '108.00', Features: 'fp asimd evtstrm crc32 cpuid', 'CPU implementer': '0x41' },
      })
      .file('/proc/meminfo', 'MemTotal:        3884268 kB\n')
      .nic('eth0', '/sys/devices/platform/scb/fd580000.ethernet', {
        address: 'dc:a6:32:01:02:03',
        speed: '1000',
      }),

  'QEMU with virtio: a disk with a serial number, a floppy, loop and RAM disks': () =>
    machine()
      .dmi({
        ...bios('SeaBIOS', '1.16.2-1', '04/01/2014'),
        ...system('QEMU', 'Standard PC (i440FX + PIIX, 1996)', ''),
        chassis_vendor: 'QEMU',
        chassis_serial: '',
      })
      .cpu({ sockets: 2, cores: 1, threadsPerCore: 1, fields: { ...intel('Processor'), flags: 'fpu vme' } })
      .memory({ blocks: 16, usableKib: 2_013_988 })
      .pci('0000:00:00.0', { vendor: '0x8086', device: '0x1237', class: '0x060000' })
      .pci('0000:00:02.0', { vendor: '0x1234', device: '0x1111', class: '0x030000', driver: 'bochs-drm' })
      .pci('0000:00:03.0', { vendor: '0x1af4', device: '0x1000', class: '0x020000', driver: 'virtio-pci' })
      .pci('0000:00:04.0', { vendor: '0x1af4', device: '0x1001', class: '0x010000', driver: 'virtio-pci' })
      .link('/sys/class/drm/card0', `${PCI}/0000:00:02.0/drm/card0`)
      .nic('ens3', `${PCI}/0000:00:03.0/virtio0`, { address: '52:54:00:12:34:56', speed: '-1' })
      .disk('vda', 'pci0000:00/0000:00:04.0/virtio1', {
        mib: 1,
        block: { size: '41943040', dev: '254:0', serial: 'root', 'queue/physical_block_size': '512' },
        device: { vendor: '0x1af4\n' },
      })
      .udev('254:0', { ID_SERIAL: 'root' })
      .disk('fd0', 'platform/floppy.0', { mib: 1 })
      .disk('loop0', 'virtual', { mib: 8 })
      .disk('dm-0', 'virtual', { mib: 8 })
      .disk('xvda', 'vbd-51712', { mib: 1024, block: { 'queue/rotational': '1' } }),

  'an AMI board with a dozen threads: cpu10 before cpu2, no cards at all': () =>
    machine()
      .dmi({
        ...bios('American Megatrends Inc.', '5.6.5', '05/14/2019'),
        ...system('To be filled by O.E.M.', 'To be filled by O.E.M.', 'To be filled by O.E.M.'),
        ...board('AMI Corporation', 'Aptio CRB', 'To be filled by O.E.M.', 'To be filled by O.E.M.'),
        ...chassis('To Be Filled By O.E.M.', 'To Be Filled By O.E.M.'),
      })
      .cpu({
        sockets: 3,
        cores: 2,
        threadsPerCore: 2,
        fields: { vendor_id: 'AuthenticAMD', 'model name': 'AMD EPYC', flags: 'fpu' },
      })
      .memory({ blocks: 8, usableKib: 1_000_000 }),

  'a container without a list of PCI names': () =>
    new MadeUpMachine()
      .cpu({ sockets: 1, cores: 1, threadsPerCore: 1, fields: intel('Processor') })
      .memory({ blocks: 0, usableKib: 500_000 })
      .pci('0000:00:02.0', { vendor: '0x1234', device: '0x1111', class: '0x030000' })
      .nic('tap0', '/sys/devices/virtual', {
        address: '9e:00:00:00:00:01',
        addr_assign_type: '1',
        speed: '10',
      }),
};

const PCI = '/sys/devices/pci0000:00';

function machine(): MadeUpMachine {
  return new MadeUpMachine().file('/usr/share/misc/pci.ids', PCI_IDS);
}

function bios(vendor: string, version: string, date: string) {
  return { bios_vendor: vendor, bios_version: version, bios_date: date };
}

function system(vendor: string, name: string, serial: string) {
  return { sys_vendor: vendor, product_name: name, product_serial: serial };
}

function board(vendor: string, name: string, version: string, serial: string) {
  return { board_vendor: vendor, board_name: name, board_version: version, board_serial: serial };
}

function chassis(vendor: string, serial: string) {
  return { chassis_vendor: vendor, chassis_serial: serial };
}

function intel(model: string) {
  return { vendor_id: 'GenuineIntel', 'model name': `Intel(R) Xeon(R) ${model}`, flags: 'fpu vme de pse nx' };
}

/** A few lines in the form of the list of the PCI ID Project. */
const PCI_IDS = `#
# A few of the devices that the machines of this test have
#
1000  Broadcom / LSI
\t005d  MegaRAID SAS-3 3108 [Invader]
10de  NVIDIA Corporation
\t1eb8  TU104GL [Tesla T4]
\t\t10de 12a2  Tesla T4
1234  Technical Corp.
144d  Samsung Electronics Co Ltd
\ta808  NVMe SSD Controller SM981/PM981/PM983
15b3  Mellanox Technologies
\t1015  MT27710 Family [ConnectX-4 Lx]
19e5  Huawei Technologies Co., Ltd.
\t1711  Hi171x Series [iBMC Intelligent Management system chip w/VGA support]
1a03  ASPEED Technology, Inc.
\t2000  ASPEED Graphics Family
1af4  Red Hat, Inc.
\t1000  Virtio network device
\t1001  Virtio block device
1def  Ampere Computing, LLC
\te100  Altra PCI Express Root Complex A
8086  Intel Corporation
\t10fb  82599ES 10-Gigabit SFI/SFP+ Network Connection
\t1237  440FX - 82441FX PMC [Natoma]
\t1521  I350 Gigabit Network Connection
\t1533  I210 Gigabit Network Connection
\t1f41  Ethernet Connection I354
\t5a85  HD Graphics 500
\t5af0  Celeron N3350/Pentium N4200/Atom E3900 Series Host Bridge
\ta352  Cannon Lake PCH SATA AHCI Controller

C 01  Mass storage controller
\t06  SATA controller
\t\t01  AHCI 1.0
C 02  Network controller
C 03  Display controller
C 06  Bridge
`;
