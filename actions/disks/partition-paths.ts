/**
 * Names of partitions, for every scheme Linux and udev use:
 *   sda → sda1, vda → vda1, xvda → xvda1        the number follows at once
 *   nvme0n1 → nvme0n1p1, mmcblk0 → mmcblk0p1,
 *   loop0 → loop0p1, nbd0 → nbd0p1, md0 → md0p1  a name that ends in a digit takes a p
 *   /dev/disk/by-id/ata-X → ata-X-part1          udev's links
 */
export function partitionPath(disk: string, number: number): string {
  if (disk.startsWith('/dev/disk/')) return `${disk}-part${number}`;
  return /\d$/.test(disk) ? `${disk}p${number}` : `${disk}${number}`;
}

/** The disk and number a partition path stands for; undefined if it names a whole disk. */
export function splitPartitionPath(path: string): { disk: string; number: number } | undefined {
  const patterns = path.startsWith('/dev/disk/')
    ? [/^(.+)-part(\d+)$/]
    : [
        /^(.*\/(?:nvme\d+n\d+|mmcblk\d+|loop\d+|nbd\d+|md\d+|zd\d+|dasd[a-z]+))p(\d+)$/,
        /^(.*\/(?:sd|vd|hd|xvd|ubd)[a-z]+)(\d+)$/,
      ];
  for (const pattern of patterns) {
    const match = pattern.exec(path);
    if (match?.[1] && match[2]) return { disk: match[1], number: Number(match[2]) };
  }
  return undefined;
}

/** Whether a device is this disk or one of its partitions: /dev/sdaa1 is not on /dev/sda. */
export function isOnDisk(device: string, disk: string): boolean {
  return device === disk || splitPartitionPath(device)?.disk === disk;
}
