import type { FloorNode } from '../../protocol/floor.ts';

/** A MAC, or the end of one, as switches, labels and Windows write it. */
const MAC_PART = /^[0-9a-f]{2}(?:[-:][0-9a-f]{2}){1,5}$/;

/** What a search finds a node by, in lower case, each on a line of its own. MACs also as labels have them, without colons. */
export function wordsOf({ id, name, serial, uuid, macs, place, site }: FloorNode): string {
  return [id, name, serial, uuid, place, site, ...macs, ...macs.map((mac) => mac.replaceAll(':', ''))]
    .filter((word) => word !== null)
    .join('\n')
    .toLowerCase();
}

/** The patterns that must all fit: one per word that was typed or scanned. */
export function containing(q: string): string[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return words
    .map((word) => (MAC_PART.test(word) ? word.replaceAll('-', ':') : word))
    .map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
}
