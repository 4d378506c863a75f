const UNITS = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** As tink-agent writes it: the two largest units that are not zero, such as 1m3s, 2s15ms, 1h2m. */
export function formatDuration(milliseconds: number): string {
  let rest = Math.max(0, Math.round(milliseconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.slice(0, 2).join('') || '0s';
}
