import type { Disk } from '../../protocol/inventory.ts';
import { formatBytes } from '../../system/format-bytes.ts';

/** A disk in one line: "/dev/nvme0n1 (Samsung SSD 980, serial S64…, 465.8 GiB, nvme)". */
export function describeDisk(disk: Disk): string {
  const facts = [
    [disk.vendor, disk.model].filter(Boolean).join(' '),
    disk.serial ? `serial ${disk.serial}` : '',
    formatBytes(disk.sizeBytes),
    disk.bus,
  ].filter(Boolean);
  return `${disk.path} (${facts.join(', ')})`;
}
