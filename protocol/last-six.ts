/** The six characters by which people call a machine across a room, from its serial number or what stands for it. */
export function lastSixOf(text: string): string {
  return text
    .replace(/[^\p{L}\p{N}]/gu, '')
    .slice(-6)
    .toUpperCase();
}
