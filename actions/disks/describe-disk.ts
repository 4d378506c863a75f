import type { Disk } from '../../protocol/inventory.ts';

/** A disk in one line: «/dev/nvme0n1 (Samsung SSD 980, serial S64…, 500.1 GB, nvme)». */
export function describeDisk(disk: Disk): string {
  const facts = [
    [disk.vendor, disk.model].filter(Boolean).join(' '),
    disk.serial ? `serial ${disk.serial}` : '',
    formatBytes(disk.sizeBytes),
    disk.bus,
  ].filter(Boolean);
  return `${disk.path} (${facts.join(', ')})`;
}

/** Decimal units, as printed on the drive. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
