const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/**
 * A number of bytes for people: 1024-based, as memory, volume sizes (LVM_SIZE) and disk selectors (`size>=100Gi`) are, with at
 * most one decimal. A drive's label counts in thousands and shows a larger number.
 */
export function formatBytes(bytes: number): string {
  const power = bytes > 0 ? Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10)) : 0;
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${UNITS[power]}`;
}
