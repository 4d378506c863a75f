import type { Identity } from './identity.ts';

/** What a machine is made of. Everything is read from /sys and /proc; a fact that cannot be known is absent, never guessed. */
export interface Inventory {
  identity: Identity;
  cpu: Cpu;
  memory: Memory;
  disks: Disk[];
  nics: Nic[];
  pci: PciDevice[];
  firmware: Firmware;
  tpm?: Tpm;
}

export interface Cpu {
  model: string;
  vendor?: string;
  architecture: string;
  sockets: number;
  cores: number;
  threads: number;
  flags: string[];
}

export interface Memory {
  totalBytes: number;
  modules: { locator?: string; sizeBytes: number; type?: string; speedMtps?: number; serial?: string }[];
}

export type DiskBus = 'nvme' | 'sata' | 'scsi' | 'sas' | 'usb' | 'virtio' | 'mmc' | 'ide' | 'xen' | 'other';

/** Why a block device can never be a target, whatever the policy. */
export type DiskKind =
  | 'disk'
  | 'cdrom'
  | 'loop'
  | 'ram'
  | 'zram'
  | 'device-mapper'
  | 'md'
  | 'bcache'
  | 'mmc-boot'
  | 'floppy'
  | 'nbd';

export interface Disk {
  /** Kernel name: sda, nvme0n1. Changes between boots; never an identity. */
  name: string;
  /** /dev/sda */
  path: string;
  kind: DiskKind;
  bus: DiskBus;
  sizeBytes: number;
  logicalSectorBytes: number;
  physicalSectorBytes: number;
  model?: string;
  vendor?: string;
  serial?: string;
  /** With its prefix: eui.…, nvme.…, naa.… */
  wwn?: string;
  isRotational: boolean;
  isRemovable: boolean;
  isReadOnly: boolean;
  /** Virtual media of a BMC, or an emulated CD: recognized by model and vendor. */
  isVirtualMedia: boolean;
  /** The Micro-OS was booted from it. */
  isBootMedium: boolean;
  /** How a disk is reached that is not in this machine: tcp, rdma, fc, loop (NVMe over Fabrics), iscsi. Others may be using it. */
  network?: string;
  /** Links below /dev/disk (by-id/…, by-path/…) that would name it. */
  links: string[];
  partitionTable?: 'gpt' | 'mbr';
  partitions: Partition[];
  /** Signatures found on the whole disk (a file system or member without a partition table). */
  signatures: Signature[];
}

export interface Partition {
  number: number;
  path: string;
  startBytes: number;
  sizeBytes: number;
  typeGuid?: string;
  partUuid?: string;
  partLabel?: string;
  signatures: Signature[];
}

/** What is on a disk or partition: ext4, vfat, LVM2_member, linux_raid_member, crypto_LUKS, … (names as blkid prints them). */
export interface Signature {
  type: string;
  label?: string;
  uuid?: string;
}

export interface Nic {
  name: string;
  mac: string;
  /** The MAC burned into the card, where the driver tells. */
  permanentMac?: string;
  driver?: string;
  hasLink: boolean;
  speedMbps?: number;
  mtu: number;
  addresses: string[];
  pciAddress?: string;
  isBootNic: boolean;
}

export interface PciDevice {
  address: string;
  vendorId: string;
  deviceId: string;
  classCode: string;
  driver?: string;
}

export interface Firmware {
  kind: 'uefi' | 'bios';
  vendor?: string;
  version?: string;
  date?: string;
  secureBoot: 'on' | 'off' | 'setup-mode' | 'unsupported';
}

export interface Tpm {
  version: '1.2' | '2.0';
  manufacturer?: string;
}
