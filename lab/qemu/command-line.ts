import { KindlingError } from '../../protocol/error.ts';
import { ACCELERATOR_ARGS, type Accelerator } from './accelerator.ts';
import { diskArgs } from './disk-arguments.ts';
import { OVMF_CODE } from './firmware.ts';
import type { MachineSpec, NicSpec, SmbiosSpec } from './machine-spec.ts';

/** The files and names of this host that stand behind a machine, in the order of its spec. */
export interface MachineFiles {
  disks: readonly string[];
  /** Name of the tap of each NIC that is on a bridge. */
  taps: readonly (string | undefined)[];
  initrd?: string;
  efiVariables?: string;
  tpmSocket?: string;
}

/** File descriptors on which QEMU finds its control channel and the second serial port: no socket files, no races. */
const QMP_FD = 3;
const SECOND_SERIAL_FD = 4;

/** The arguments of qemu-system-x86_64 for a machine. It starts paused, so that links can be set before power-on. */
export function qemuArguments(spec: MachineSpec, files: MachineFiles, accelerator: Accelerator): string[] {
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-S'],
    ...ACCELERATOR_ARGS[accelerator],
    ...['-machine', machineType(spec), '-m', String(spec.memoryMb ?? 512), '-smp', String(spec.cpus ?? 1)],
    ...['-chardev', 'stdio,id=console,signal=off', '-serial', 'chardev:console'],
    ...['-chardev', `socket,id=qmp,fd=${QMP_FD}`, '-mon', 'chardev=qmp,mode=control'],
    ...(spec.secondSerial
      ? ['-chardev', `socket,id=console2,fd=${SECOND_SERIAL_FD}`, '-serial', 'chardev:console2']
      : []),
    ...['-device', 'virtio-rng-pci'],
    ...firmwareArgs(spec, files),
    ...kernelArgs(spec, files),
    ...((spec.disks ?? []).some((disk) => disk.bus === 'scsi') ? ['-device', 'virtio-scsi-pci,id=scsi'] : []),
    ...((spec.disks ?? []).some((disk) => disk.bus === 'usb') ? ['-device', 'qemu-xhci,id=usb'] : []),
    ...(spec.disks ?? []).flatMap((disk, index) => diskArgs(disk, index, files.disks[index] ?? '', spec)),
    ...(spec.nics ?? []).flatMap((nic, index) => nicArgs(nic, index, files.taps[index])),
    ...smbiosArgs(spec.smbios ?? {}),
    ...(files.tpmSocket
      ? [
          ...['-chardev', `socket,id=tpm,path=${files.tpmSocket}`, '-tpmdev', 'emulator,id=tpm0,chardev=tpm'],
          ...['-device', 'tpm-crb,tpmdev=tpm0'],
        ]
      : []),
    ...(spec.clock ? ['-rtc', `base=${spec.clock}`] : []),
    ...(spec.qemuArgs ?? []),
  ];
}

function machineType(spec: MachineSpec): string {
  const secure = spec.firmware === 'ovmf-secure-boot' ? ',smm=on' : '';
  return `${spec.chipset ?? 'q35'}${secure}${spec.serialFirmware ? ',graphics=off' : ''}`;
}

function firmwareArgs(spec: MachineSpec, files: MachineFiles): string[] {
  const config = (spec.firmwareConfig ?? []).flatMap((item) => [
    '-fw_cfg',
    `name=${item.name},${'file' in item ? `file=${item.file}` : `string=${item.string}`}`,
  ]);
  const firmware = spec.firmware ?? 'seabios';
  if (firmware === 'seabios') return config;
  return [
    ...(firmware === 'ovmf-secure-boot' ? ['-global', 'driver=cfi.pflash01,property=secure,value=on'] : []),
    ...['-drive', `if=pflash,unit=0,format=raw,readonly=on,file=${OVMF_CODE[firmware]}`],
    ...['-drive', `if=pflash,unit=1,format=raw,file=${files.efiVariables}`],
    ...config,
  ];
}

function kernelArgs(spec: MachineSpec, files: MachineFiles): string[] {
  if (!spec.kernel) return [];
  // EFI firmware starts only what is an EFI program as well. With a TPM the BIOS takes memory for its log, and then its ACPI tables lie
  // where QEMU 7.2 puts the initrd of an unpacked kernel: the TPM, the timers and the power button would not be found.
  const canBeUnpacked = (spec.firmware ?? 'seabios') === 'seabios' && !spec.tpm;
  const unpacked = canBeUnpacked ? spec.kernel.unpacked : undefined;
  return [
    ...['-kernel', unpacked ?? spec.kernel.kernel],
    ...(files.initrd ? ['-initrd', files.initrd] : []),
    ...(spec.kernel.cmdline === undefined ? [] : ['-append', spec.kernel.cmdline]),
  ];
}

const NIC_DEVICES: Record<NicSpec['model'], string> = {
  virtio: 'virtio-net-pci',
  e1000: 'e1000',
  e1000e: 'e1000e',
  rtl8139: 'rtl8139',
};

function nicArgs(nic: NicSpec, index: number, tap: string | undefined): string[] {
  const device = [
    NIC_DEVICES[nic.model],
    `id=nic${index}`,
    `netdev=net${index}`,
    `mac=${nic.mac ?? defaultMac(index)}`,
    ...(nic.optionRom ? [] : ['romfile=']),
    ...(nic.bootIndex === undefined ? [] : [`bootindex=${nic.bootIndex}`]),
  ];
  return ['-netdev', netdev(nic, index, tap), '-device', device.join(',')];
}

function netdev(nic: NicSpec, index: number, tap: string | undefined): string {
  const id = `id=net${index}`;
  const network = nic.network ?? 'user';
  if (tap) return `tap,${id},ifname=${tap},script=no,downscript=no`;
  if (network === 'silent') return `hubport,${id},hubid=${index}`;
  const options = typeof network === 'object' && !('namespace' in network) ? network : {};
  return [
    `user,${id}`,
    ...(options.tftpFolder ? [`tftp=${options.tftpFolder}`] : []),
    ...(options.bootFile ? [`bootfile=${options.bootFile}`] : []),
    ...(options.restrict ? ['restrict=on'] : []),
  ].join(',');
}

/** MAC addresses of NICs that were given none: 52:54:00:6b:00:01 and up. */
function defaultMac(index: number): string {
  return `52:54:00:6b:00:${(index + 1).toString(16).padStart(2, '0')}`;
}

function smbiosArgs(smbios: SmbiosSpec): string[] {
  const system = pairs({
    uuid: smbios.uuid,
    manufacturer: smbios.manufacturer,
    product: smbios.product,
    serial: smbios.serial,
  });
  const board = pairs({ serial: smbios.boardSerial });
  const chassis = pairs({ serial: smbios.chassisSerial });
  return [
    ...(system ? ['-smbios', `type=1${system}`] : []),
    ...(board ? ['-smbios', `type=2${board}`] : []),
    ...(chassis ? ['-smbios', `type=3${chassis}`] : []),
  ];
}

function pairs(values: Record<string, string | undefined>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `,${key}=${escapeComma(value ?? '')}`)
    .join('');
}

/** QEMU ends a value at a comma; a doubled one stands for itself. */
function escapeComma(value: string): string {
  if (value.includes('\n'))
    throw new KindlingError('KND_USAGE', `a QEMU option cannot hold a line break: ${value}`);
  return value.replaceAll(',', ',,');
}
