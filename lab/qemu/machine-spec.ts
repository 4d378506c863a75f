import type { Bridge } from './network.ts';

/** A virtual machine as data. Everything has a default; `{}` is a BIOS machine with 512 MB, no disk and no network. */
export interface MachineSpec {
  /** Shown in errors. */
  name?: string;
  firmware?: Firmware;
  /** q35 unless given; `pc` for BIOS network boot and IDE disks. */
  chipset?: 'q35' | 'pc';
  memoryMb?: number;
  cpus?: number;
  disks?: readonly DiskSpec[];
  nics?: readonly NicSpec[];
  smbios?: SmbiosSpec;
  /** A TPM 2.0 (swtpm); its state lives as long as the machine. */
  tpm?: boolean;
  /** What the hardware clock shows at power-on, `2001-09-09T01:46:40`; the host's time unless given. */
  clock?: string;
  /** Boots this kernel directly. Without it the firmware boots from disk or network. Never use it for Secure Boot tests: it bypasses them. */
  kernel?: KernelSpec | undefined;
  /** What the UEFI variable store holds before the first boot. */
  efiVariables?: 'blank' | 'snakeoil' | 'microsoft' | { file: string };
  /** Items of QEMU's fw_cfg, the way to configure OVMF (`etc/edk2/https/cacerts`, …). */
  firmwareConfig?: readonly ({ name: string; string: string } | { name: string; file: string })[];
  /** A second serial port, ttyS1; its console is `machine.secondConsole`. */
  secondSerial?: boolean;
  /** Firmware messages of BIOS machines on the serial console (SeaBIOS and iPXE). */
  serialFirmware?: boolean;
  /** Anything else, as QEMU takes it. */
  qemuArgs?: readonly string[];
}

export type Firmware = 'seabios' | 'ovmf' | 'ovmf-secure-boot';

export interface KernelSpec {
  kernel: string;
  /** The same kernel as a program (unpack-kernel.ts): a machine with a BIOS and no TPM starts this one instead, and saves the time to unpack it. */
  unpacked?: string | undefined;
  /** Several are concatenated in this order: a Micro-OS and a config archive, say. */
  initrd?: string | readonly string[];
  cmdline?: string;
}

export const DISK_BUSES = ['virtio', 'nvme', 'sata', 'scsi', 'usb'] as const;

export interface DiskSpec {
  bus: (typeof DISK_BUSES)[number];
  /** A new empty disk of this size: bytes, or `512M`, `4G`. */
  size?: number | string;
  /** An existing raw image, used in place. */
  file?: string;
  /** With `file`: the machine works on its own copy. */
  copy?: boolean;
  serial?: string;
  /** Hexadecimal, `0x5000c50015ea71ac`. Not on virtio and USB disks. */
  wwn?: string;
  logicalSectorBytes?: number;
  physicalSectorBytes?: number;
  readOnly?: boolean;
  removable?: boolean;
  bootIndex?: number;
  faults?: readonly DiskFault[];
  /** Slows writing down, to hit the middle of a write. */
  writeBytesPerSecond?: number;
}

/** From then on, reading or writing this 512-byte sector fails with an I/O error. */
export interface DiskFault {
  on: 'read' | 'write' | 'flush';
  /** Any sector when absent. */
  sector?: number;
  once?: boolean;
}

export const NIC_MODELS = ['virtio', 'e1000', 'e1000e', 'rtl8139'] as const;

export interface NicSpec {
  model: (typeof NIC_MODELS)[number];
  mac?: string;
  /**
   * `user`: QEMU's own network with DHCP; the host is 10.0.2.2. `silent`: link, but nobody answers.
   * A bridge: a tap in a test network (network.ts).
   */
  network?: 'user' | 'silent' | UserNetwork | Bridge;
  link?: 'up' | 'down';
  bootIndex?: number;
  /** Keep QEMU's iPXE option ROM; without it UEFI firmware uses its own network boot. */
  optionRom?: boolean;
}

export interface UserNetwork {
  tftpFolder?: string;
  bootFile?: string;
  /** Cuts the guest off from everything but the host's own addresses given by `forwards`. */
  restrict?: boolean;
}

export interface SmbiosSpec {
  uuid?: string;
  manufacturer?: string;
  product?: string;
  serial?: string;
  boardSerial?: string;
  chassisSerial?: string;
}
