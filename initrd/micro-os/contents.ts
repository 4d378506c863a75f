/** What the Micro-OS is made of, and why. The one list: change it here, and `kindling build microos --explain` shows the effect. */

/** `minimal`: what provisioning over the network needs. `full`: everything of minimal, and encryption, RAID, containers. */
export type Profile = 'minimal' | 'full';
export const PROFILES: readonly Profile[] = ['minimal', 'full'];

interface Tools {
  package: string;
  /** Paths inside the package. Symbolic links stay links; shared libraries are found and added on their own. */
  files: readonly string[];
  reason: string;
}

export const TOOLS: Record<Profile, readonly Tools[]> = {
  minimal: [
    {
      package: 'busybox-static',
      files: ['bin/busybox'],
      reason: 'the shell, udhcpc, modprobe, mount and a hundred small tools',
    },
    { package: 'fdisk', files: ['sbin/sfdisk'], reason: 'partition tables, GPT and MBR, from a script' },
    {
      package: 'util-linux',
      files: ['sbin/blkid', 'sbin/wipefs', 'sbin/blkdiscard'],
      reason: 'finds and removes signatures of file systems and RAIDs',
    },
    {
      package: 'e2fsprogs',
      files: ['sbin/mke2fs', 'sbin/mkfs.ext4', 'sbin/e2fsck', 'sbin/resize2fs', 'etc/mke2fs.conf'],
      reason: 'makes and grows ext4: data partitions, the root of a just written image',
    },
    {
      package: 'dosfstools',
      files: ['sbin/mkfs.fat', 'sbin/mkfs.vfat'],
      reason: 'makes EFI system partitions and CIDATA seeds',
    },
    { package: 'efibootmgr', files: ['bin/efibootmgr'], reason: 'boot order of UEFI machines' },
    { package: 'hdparm', files: ['sbin/hdparm'], reason: 'secure erase of ATA disks' },
    {
      package: 'kexec-tools',
      files: ['sbin/kexec'],
      reason: 'starts the installed system without going through the firmware again',
    },
  ],
  full: [],
};

/** Where shared libraries of the tools may come from. Only what a tool really needs ends up in the Micro-OS. */
export const LIBRARY_PACKAGES: Record<Profile, readonly string[]> = {
  minimal: [
    'libc6',
    'libblkid1',
    'libuuid1',
    'libfdisk1',
    'libsmartcols1',
    'libmount1',
    'libtinfo6',
    'libreadline8',
    'libext2fs2',
    'libcom-err2',
    'libss2',
    'libefivar1',
    'libefiboot1',
    'libpopt0',
    'libxenmisc4.17',
    'libxencall1',
    'libxentoollog1',
    'libxentoolcore1',
    'libxenforeignmemory1',
    'libxendevicemodel1',
    'libxenevtchn1',
    'libxengnttab1',
    'zlib1g',
    'liblzma5',
    'libzstd1',
  ],
  full: [],
};

interface Modules {
  modules: readonly string[];
  reason: string;
}

/** Kernel modules by name; what they depend on is added on its own. A driver that is built in counts as there. */
export const MODULES: Record<Profile, readonly Modules[]> = {
  minimal: [
    { modules: ['nvme', 'vmd'], reason: 'NVMe disks, also behind Intel VMD' },
    { modules: ['ahci', 'ata_piix', 'ata_generic', 'sd_mod'], reason: 'SATA disks' },
    {
      modules: ['virtio_pci', 'virtio_mmio', 'virtio_blk', 'virtio_scsi', 'virtio_net', 'virtio_rng'],
      reason: 'virtual machines (KVM)',
    },
    {
      modules: ['megaraid_sas', 'mpt3sas', 'smartpqi', 'hpsa', 'aacraid'],
      reason: 'SAS and RAID controllers of Dell, Lenovo, HPE, Adaptec',
    },
    {
      modules: ['xhci_pci', 'ehci_pci', 'uhci_hcd', 'ohci_pci', 'usb_storage', 'uas'],
      reason: 'USB disks and sticks',
    },
    { modules: ['sdhci_pci', 'sdhci_acpi', 'mmc_block'], reason: 'eMMC and SD cards of small edge machines' },
    { modules: ['sr_mod', 'isofs'], reason: 'virtual CD of a management controller (seed, installer)' },
    { modules: ['e1000', 'e1000e', 'igb', 'igc', 'ixgbe', 'i40e', 'ice'], reason: 'Intel network cards' },
    { modules: ['r8169', 'realtek', '8139cp', '8139too'], reason: 'Realtek network cards' },
    { modules: ['tg3', 'bnxt_en'], reason: 'Broadcom network cards' },
    { modules: ['atlantic', 'vmxnet3', 'vmw_pvscsi'], reason: 'Aquantia network cards; VMware machines' },
    { modules: ['r8152', 'ax88179_178a', 'asix', 'cdc_ether', 'cdc_ncm'], reason: 'USB network adapters' },
    { modules: ['8021q', 'bonding'], reason: 'VLANs and bonded links' },
    {
      modules: ['ext4', 'vfat', 'nls_cp437', 'nls_ascii', 'nls_utf8', 'nls_iso8859_1'],
      reason: 'file systems of what was just written',
    },
    { modules: ['efivarfs', 'efi_pstore'], reason: 'boot order and Secure Boot state' },
    { modules: ['loop', 'squashfs', 'overlay'], reason: 'images inside files' },
    { modules: ['usbhid', 'hid_generic'], reason: 'USB keyboards, for the debug shell' },
    {
      modules: ['ipmi_si', 'ipmi_devintf', 'i6300esb', 'iTCO_wdt'],
      reason: 'management controller and hardware watchdogs',
    },
    { modules: ['qemu_fw_cfg'], reason: 'settings given by QEMU' },
    {
      modules: ['crc32c_intel', 'crc32c_generic'],
      reason: 'checksums of ext4 (asked for by name at mount time)',
    },
  ],
  full: [],
};
