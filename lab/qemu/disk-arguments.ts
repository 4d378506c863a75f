import { KindlingError } from '../../protocol/error.ts';
import type { DiskSpec, MachineSpec } from './machine-spec.ts';

/** The QEMU arguments of one disk: what stores its bytes, what spoils or slows them, and the device the guest sees. */
export function diskArgs(disk: DiskSpec, index: number, file: string, machine: MachineSpec): string[] {
  const storage = {
    driver: 'raw',
    'node-name': `disk${index}-raw`,
    discard: 'unmap',
    'read-only': disk.readOnly ?? false,
    // A power-cut kills QEMU, not the host: what the guest wrote is in the host's page cache, so flushing buys nothing.
    file: {
      driver: 'file',
      filename: file,
      discard: 'unmap',
      'read-only': disk.readOnly ?? false,
      cache: { 'no-flush': true },
    },
  };
  const args: string[] = [];
  let node: Record<string, unknown> = storage;
  if (disk.writeBytesPerSecond !== undefined) {
    args.push('-object', `throttle-group,id=disk${index}-slow,x-bps-write=${disk.writeBytesPerSecond}`);
    node = {
      driver: 'throttle',
      'throttle-group': `disk${index}-slow`,
      'node-name': `disk${index}-slow`,
      file: node,
    };
  }
  if (disk.faults && disk.faults.length > 0) {
    const errors = disk.faults.map(({ on, sector, once }) => ({
      event: 'none',
      iotype: on,
      errno: 5,
      once: once ?? false,
      ...(sector === undefined ? {} : { sector }),
    }));
    node = { driver: 'blkdebug', 'node-name': `disk${index}-faulty`, image: node, 'inject-error': errors };
  }
  return [
    ...args,
    '-blockdev',
    JSON.stringify(node),
    ...deviceArgs(disk, index, String(node['node-name']), machine),
  ];
}

function deviceArgs(disk: DiskSpec, index: number, node: string, machine: MachineSpec): string[] {
  const options = (...extra: string[]) =>
    [
      `drive=${node}`,
      ...(disk.logicalSectorBytes ? [`logical_block_size=${disk.logicalSectorBytes}`] : []),
      ...(physicalSectorBytes(disk) ? [`physical_block_size=${physicalSectorBytes(disk)}`] : []),
      ...extra,
    ].join(',');
  const serial = disk.serial === undefined ? [] : [`serial=${disk.serial}`];
  const boot = disk.bootIndex === undefined ? [] : [`bootindex=${disk.bootIndex}`];
  const wwn = disk.wwn === undefined ? [] : [`wwn=${disk.wwn}`];
  const report = ['werror=report', 'rerror=report']; // QEMU would rather pause the machine; hardware does not
  if (disk.wwn && (disk.bus === 'virtio' || disk.bus === 'usb')) {
    throw new KindlingError('KND_USAGE', `a ${disk.bus} disk cannot have a WWN in QEMU (disk ${index})`);
  }
  switch (disk.bus) {
    case 'virtio':
      return ['-device', `virtio-blk-pci,id=disk${index},${options(...serial, ...boot, ...report)}`];
    case 'nvme':
      return [
        '-device',
        `nvme,id=nvme${index},serial=${disk.serial ?? `KND-NVME-${index}`}`,
        '-device',
        `nvme-ns,id=disk${index},bus=nvme${index},${options(...boot, ...(disk.wwn ? [`eui64=${disk.wwn}`] : []))}`,
      ];
    case 'sata':
      return [
        '-device',
        `ide-hd,id=disk${index},${options(...sataBus(index, machine), ...serial, ...wwn, ...boot, ...report)}`,
      ];
    case 'scsi':
      return [
        '-device',
        `scsi-hd,id=disk${index},${options('bus=scsi.0', ...serial, ...wwn, ...boot, ...removable(disk), ...report)}`,
      ];
    case 'usb':
      return [
        '-device',
        `usb-storage,id=disk${index},${options('bus=usb.0', ...serial, ...boot, ...removable(disk))}`,
      ];
  }
}

/** q35 has six SATA ports in its chipset, `pc` two IDE channels of two disks. */
function sataBus(index: number, machine: MachineSpec): string[] {
  const port = (machine.disks ?? []).slice(0, index).filter(({ bus }) => bus === 'sata').length;
  if (machine.chipset === 'pc') return [`bus=ide.${Math.floor(port / 2)}`, `unit=${port % 2}`];
  return [`bus=ide.${port}`];
}

function removable(disk: DiskSpec): string[] {
  return disk.removable === undefined ? [] : [`removable=${disk.removable ? 'on' : 'off'}`];
}

function physicalSectorBytes(disk: DiskSpec): number | undefined {
  return disk.physicalSectorBytes ?? disk.logicalSectorBytes;
}
