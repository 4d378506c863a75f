/**
 * Who fetches a chunk from the origin, so that each chunk crosses the uplink once: every node computes the same order
 * from the same list of addresses (rendezvous hashing), and no one has to agree on anything.
 */
export function rankOwners(index: number, urls: readonly string[]): string[] {
  return [...urls].sort((a, b) => score(b, index) - score(a, index) || (a < b ? -1 : 1));
}

/**
 * How much a chunk is this node's: FNV-1a over address and number, then mixed so that near numbers give far scores. A node that
 * takes its chunks from the highest score down begins with the ones it keeps when more nodes join.
 */
export function score(url: string, index: number): number {
  let hash = 0x811c9dc5;
  for (const char of `${url} ${index}`) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
