/** What the Micro-OS is made of, and why. The one list: change it here; `kindling build microos --explain` shows the effect. */

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
      reason: 'the shell, udhcpc, modprobe, mount and two hundred small tools',
    },
    {
      package: 'util-linux',
      files: ['sbin/blkid', 'sbin/wipefs', 'sbin/blkdiscard'],
      reason: 'finds and removes signatures; lets a disk zero itself (busybox’s blkdiscard cannot)',
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
    {
      package: 'cloud-init',
      files: ['usr/lib/python3/dist-packages/cloudinit/config/schemas/schema-cloud-config-v1.json'],
      reason: 'its schema: user-data is checked before it is written (decision 054)',
    },
    {
      package: 'pci.ids',
      files: ['usr/share/misc/pci.ids'],
      reason: 'names of PCI devices: enrollment rules of Tinkerbell match on them',
    },
    { package: 'efibootmgr', files: ['bin/efibootmgr'], reason: 'boot order of UEFI machines, by hand' },
    { package: 'hdparm', files: ['sbin/hdparm'], reason: 'secure erase of ATA disks' },
    {
      package: 'kexec-tools',
      files: ['sbin/kexec'],
      reason: 'starts the installed system without going through the firmware again',
    },
  ],
  full: [
    {
      package: 'cryptsetup-bin',
      files: ['sbin/cryptsetup', 'sbin/veritysetup'],
      reason: 'LUKS, dm-verity',
    },
    {
      package: 'tpm2-initramfs-tool',
      files: ['usr/bin/tpm2-initramfs-tool'],
      reason: 'seals the key of an encrypted disk to the TPM, where EMF’s systems look for it',
    },
    {
      package: 'libtss2-tcti-device0',
      files: [
        'usr/lib/x86_64-linux-gnu/libtss2-tcti-device.so.0',
        'usr/lib/x86_64-linux-gnu/libtss2-tcti-device.so.0.0.0',
      ],
      reason: 'how that reaches /dev/tpmrm0; loaded by name at run time, so nothing asks for it',
    },
    {
      package: 'lvm2',
      files: ['sbin/lvm', 'sbin/pvcreate', 'sbin/vgcreate', 'sbin/lvcreate', 'sbin/vgchange', 'sbin/pvs'],
      reason: 'logical volumes',
    },
    {
      package: 'dmsetup',
      files: ['sbin/dmsetup'],
      reason: 'removes device-mapper devices left by an earlier run',
    },
    {
      package: 'fdisk',
      files: ['sbin/sfdisk'],
      reason: 'partition tables by hand; the agent writes them itself, and busybox has an fdisk',
    },
    {
      package: 'extlinux',
      files: ['usr/bin/extlinux', 'usr/lib/EXTLINUX/mbr.bin', 'usr/lib/EXTLINUX/gptmbr.bin'],
      reason: 'boot loader for BIOS machines (the action syslinux)',
    },
    { package: 'mdadm', files: ['sbin/mdadm'], reason: 'software RAID' },
    { package: 'nvme-cli', files: ['usr/sbin/nvme'], reason: 'NVMe namespaces, format, sanitize by hand' },
    {
      package: 'qemu-utils',
      files: ['usr/bin/qemu-img', 'usr/bin/qemu-nbd'],
      reason: 'qcow2, VMDK, VHD images',
    },
    { package: 'crun', files: ['usr/bin/crun'], reason: 'runs actions we do not know as containers' },
    { package: 'xfsprogs', files: ['sbin/mkfs.xfs', 'usr/sbin/xfs_growfs'], reason: 'makes and grows XFS' },
    { package: 'gdisk', files: ['sbin/sgdisk'], reason: 'partition tables in workflows written for sgdisk' },
    { package: 'zstd', files: ['usr/bin/zstd'], reason: 'decompresses .zst in scripts; busybox cannot' },
  ],
};

/** Where shared libraries of the tools may come from. Only what a tool really asks for ends up in the Micro-OS. */
export const LIBRARY_PACKAGES: Record<Profile, readonly string[]> = {
  minimal: [
    'libc6', // every tool
    ...['libblkid1', 'libuuid1', 'libsmartcols1'], // util-linux
    ...['libext2fs2', 'libcom-err2'], // e2fsprogs
    ...['libefivar1', 'libefiboot1', 'libpopt0'], // efibootmgr
    ...['zlib1g', 'libzstd1'], // kexec reads compressed kernels,
    ...['libxenmisc4.17', 'libxencall1', 'libxentoollog1', 'libxentoolcore1'], // and Debian's knows Xen
    ...['libxenforeignmemory1', 'libxendevicemodel1', 'libxenevtchn1', 'libxengnttab1'],
  ],
  full: [
    ...['libfdisk1', 'libtinfo6', 'libreadline8'], // fdisk
    ...['libgcc-s1', 'libstdc++6', 'libssl3', 'libselinux1', 'libpcre2-8-0'], // many of them
    ...['libcryptsetup12', 'libargon2-1', 'libjson-c5', 'libdevmapper1.02.1', 'libudev1'], // cryptsetup
    ...['libdevmapper-event1.02.1', 'libaio1', 'libedit2', 'libbsd0', 'libmd0'], // lvm2
    ...['libsystemd0', 'libcap2', 'libgcrypt20', 'libgpg-error0', 'liblz4-1'], // lvm2, crun, nvme-cli
    'liblzma5', // zstd
    ...['libseccomp2', 'libyajl2'], // crun
    ...['libnvme1', 'libdbus-1-3'], // nvme-cli
    ...['libinih1', 'liburcu8'], // xfsprogs
    ...['libtss2-esys-3.0.2-0', 'libtss2-mu0', 'libtss2-sys1'], // tpm2-initramfs-tool
    ...['libidn2-0', 'libunistring2'], // gnutls
    ...['libglib2.0-0', 'liburing2', 'libfuse3-3', 'libnuma1'], // qemu-utils
    ...['libgnutls30', 'libnettle8', 'libhogweed6', 'libgmp10', 'libp11-kit0', 'libtasn1-6', 'libffi8'],
  ],
};

interface Modules {
  modules: readonly string[];
  reason: string;
}

/** Kernel modules by name; what they depend on is added on its own. A driver that is built in counts as there. */
export const MODULES: Record<Profile, readonly Modules[]> = {
  minimal: [
    { modules: ['nvme', 'vmd'], reason: 'NVMe disks, also behind Intel VMD' },
    { modules: ['ahci', 'ata_piix', 'ata_generic', 'sd_mod'], reason: 'SATA and IDE disks' },
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
    { modules: ['atlantic'], reason: 'Aquantia network cards' },
    { modules: ['vmxnet3', 'vmw_pvscsi'], reason: 'virtual machines (VMware)' },
    { modules: ['r8152', 'ax88179_178a', 'asix', 'cdc_ether', 'cdc_ncm'], reason: 'USB network adapters' },
    { modules: ['8021q', 'bonding'], reason: 'VLANs and bonded links' },
    {
      modules: ['ext4', 'vfat', 'nls_cp437', 'nls_ascii', 'nls_utf8', 'nls_iso8859_1'],
      reason: 'file systems of what was just written',
    },
    { modules: ['efivarfs', 'efi_pstore'], reason: 'boot order and Secure Boot state' },
    {
      modules: ['tpm_tis', 'tpm_crb'],
      reason: 'the TPM that proves the machine, and keeps the key of its disk',
    },
    { modules: ['loop', 'squashfs', 'overlay'], reason: 'images inside files' },
    { modules: ['usbhid', 'hid_generic'], reason: 'USB keyboards, for the debug shell' },
    {
      modules: ['ipmi_si', 'ipmi_devintf', 'i6300esb', 'iTCO_wdt'],
      reason: 'management controller, watchdogs',
    },
    { modules: ['qemu_fw_cfg'], reason: 'settings given by QEMU' },
    {
      modules: ['crc32c_intel', 'crc32c_generic'],
      reason: 'checksums of ext4, asked for by name at mount time',
    },
  ],
  full: [
    { modules: ['dm_mod', 'dm_crypt', 'dm_verity', 'dm_integrity'], reason: 'encrypted and verified disks' },
    {
      modules: ['aesni_intel', 'xts', 'ecb', 'sha256_ssse3', 'sha512_ssse3', 'algif_skcipher'],
      reason: 'their ciphers, fast',
    },
    { modules: ['dm_thin_pool', 'dm_snapshot', 'dm_mirror', 'dm_raid'], reason: 'logical volumes' },
    { modules: ['raid0', 'raid1', 'raid10', 'raid456'], reason: 'software RAID' },
    { modules: ['nbd'], reason: 'qcow2 images as disks (qemu-nbd)' },
    { modules: ['xfs', 'btrfs', 'fuse'], reason: 'more file systems' },
    { modules: ['veth', 'bridge', 'tun', 'macvlan'], reason: 'networks of containers' },
    {
      modules: ['bnx2', 'bnx2x', 'mlx4_en', 'mlx5_core', 'qede', 'be2net', 'sfc', 'cxgb4'],
      reason: 'data-center network cards',
    },
    {
      modules: ['ixgbevf', 'iavf', 'ena', 'hv_netvsc', 'hv_storvsc', 'xen_netfront', 'xen_blkfront'],
      reason: 'more virtual machines',
    },
    { modules: ['mptsas', 'mptspi', 'pm80xx', 'arcmsr'], reason: 'older SAS and RAID controllers' },
  ],
};
