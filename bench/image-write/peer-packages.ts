/** The programs we compare with, as Debian has them; installed when the benchmark starts. */
export const PEER_PACKAGES: readonly { name: string; reason: string }[] = [
  { name: 'bmap-tools', reason: 'bmaptool, a peer' },
  { name: 'bzip2', reason: 'a peer of .bz2' },
  { name: 'curl', reason: 'downloads for the peers' },
  { name: 'e2fsprogs', reason: 'makes the image' },
  { name: 'gdisk', reason: 'makes the image’s partition table' },
  { name: 'lbzip2', reason: 'a peer of .bz2, on all cores' },
  { name: 'libnbd-bin', reason: 'nbdcopy, a peer' },
  { name: 'nbdkit', reason: 'the source of nbdcopy' },
  { name: 'nginx-light', reason: 'serves the images' },
  { name: 'pigz', reason: 'a peer of .gz' },
  { name: 'python3', reason: 'ironic-python-agent’s way of writing is Python' },
  { name: 'qemu-block-extra', reason: 'lets qemu-img read over HTTP' },
  { name: 'qemu-utils', reason: 'qemu-img, a peer' },
  { name: 'wget', reason: 'downloads for a peer' },
  { name: 'xz-utils', reason: 'a peer of .xz' },
  { name: 'zstd', reason: 'a peer of .zst' },
];
