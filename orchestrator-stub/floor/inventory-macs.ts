import { normalizeMac } from '../../formats/mac-address.ts';
import type { Discovery } from '../nodes/discovery.ts';

/** A machine may have many; a row shows a few, and a search finds those. */
const MOST_MACS = 16;

/** The MACs of a machine as it reported them. */
export function inventoryMacs(inventory: Discovery | undefined): string[] {
  return (inventory?.identity.macs ?? []).slice(0, MOST_MACS).map(normalizeMac);
}
