interface DebianPackage {
  name: string;
  reason: string;
  /** Large, and no use to who only wants to see the demo or boot a machine. */
  isForTestsOnly?: true;
}

/** Every Debian package Kindling's commands need, and why. Installed by `setup/main.ts`; there is no second list. */
export const DEBIAN_PACKAGES: readonly DebianPackage[] = [
  // building the agent and the Micro-OS
  {
    name: 'gcc',
    reason: 'compiles the launcher (a hundred lines of C) that makes the agent one static file',
  },
  { name: 'libc6-dev', reason: 'headers for that launcher' },
  { name: 'binutils', reason: 'strips the Node binary and libraries inside the agent' },
  {
    name: 'busybox-static',
    reason: 'small servers and clients in the tests: httpd, udhcpc, a root file system',
  },
  { name: 'cpio', reason: 'reads and writes archives in the tests, to compare ours with' },
  { name: 'bzip2', reason: 'makes .bz2 images in the tests' },
  { name: 'xz-utils', reason: 'makes and decompresses .xz images' },
  { name: 'zstd', reason: 'compresses images in the tests and benches' },

  // booting virtual machines
  { name: 'qemu-system-x86', reason: 'the virtual machines of the demo and the tests' },
  {
    name: 'qemu-block-extra',
    reason:
      'QEMU’s iSCSI initiator: disks of our own with ATA security behind a virtual machine, in the tests',
  },
  { name: 'qemu-utils', reason: 'qemu-img: disk images of other formats' },
  { name: 'ovmf', reason: 'UEFI firmware for the virtual machines, with and without Secure Boot' },
  { name: 'seabios', reason: 'BIOS firmware for the virtual machines' },
  { name: 'swtpm', reason: 'a TPM 2.0 for the virtual machines' },
  { name: 'tpm2-tools', reason: 'what an encrypted system asks its TPM with, in the tests of its scripts' },
  { name: 'libtss2-tcti-swtpm0', reason: 'leads these tools to swtpm' },
  { name: 'dnsmasq-base', reason: 'a real DHCP server for the test networks, as a customer would have one' },
  { name: 'iproute2', reason: 'network namespaces, bridges and taps for the test networks' },
  {
    name: 'socat',
    reason: 'carries the port of the demo’s orchestrator out of its network, and packets over a slow link',
  },
  { name: 'curl', reason: 'a real HTTP and TFTP client in the tests' },
  {
    name: 'postgresql-15',
    reason: 'a real database server in the tests of the second storage engine; each test run starts its own',
    isForTestsOnly: true,
  },
  { name: 'nginx-light', reason: 'a real HTTPS server in the tests of the image writer' },

  // disks and images
  { name: 'mmdebstrap', reason: 'makes the Debian that the demo and the tests install' },
  { name: 'e2fsprogs', reason: 'makes ext4 file systems' },
  { name: 'dosfstools', reason: 'makes FAT file systems (EFI system partition)' },
  { name: 'mtools', reason: 'fills FAT file systems without mounting them' },
  { name: 'fdisk', reason: 'sfdisk: partition tables for the tests' },
  { name: 'xfsprogs', reason: 'makes XFS: the tests compare our signatures with real ones' },
  { name: 'btrfs-progs', reason: 'makes btrfs, for the same tests' },
  { name: 'cryptsetup-bin', reason: 'makes LUKS, for the same tests and for the full Micro-OS' },

  // standalone installer
  {
    name: 'openssl',
    reason: 'hashes the passwords of a standalone config; signs updates of firmware variables',
  },
  { name: 'sbsigntool', reason: 'signs boot programs for Secure Boot' },
  { name: 'cloud-init', reason: 'cloud-init schema: the tests check what we render with the real program' },
  { name: 'util-linux', reason: 'loop devices and blkdiscard in the tests of the actions' },
  {
    name: 'strace',
    reason: 'records the writes and syncs of SQLite and others, in the tests that cut the power in between',
  },
  { name: 'procps', reason: 'pgrep: the tests look for processes an action left behind' },
  { name: 'crun', reason: 'runs a foreign action image in the tests, as in the full Micro-OS' },
  { name: 'systemd', reason: 'systemd-analyze: the tests let it judge the unit of the mirror' },
  {
    name: 'adduser',
    reason: 'the Debian package of Kindling makes its user with it; the tests install that package',
  },
  {
    name: 'lintian',
    reason: 'judges the Debian package of Kindling, in the long tests',
    isForTestsOnly: true,
  },
  {
    name: 'skopeo',
    reason: 'a real reader for the container image of a release, in the tests',
    isForTestsOnly: true,
  },
  { name: 'shellcheck', reason: 'judges our shell scripts, in the tests' },
  { name: 'wget', reason: 'one of the programs the first-boot report may find in an installed system' },
  { name: 'chromium', reason: 'a real browser for the console, in the tests', isForTestsOnly: true },
  { name: 'zbar-tools', reason: 'a real reader for the QR code of the fatal screen, in the tests' },
];
