const SIZE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** tink-agent's format: rounded up to the largest 1024-based unit below the size; nothing for 0. */
export function formatSize(bytes: number): string {
  if (bytes <= 0) return '';
  const power = Math.min(SIZE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Math.ceil(bytes / 1024 ** power)}${SIZE_UNITS[power]}`;
}
