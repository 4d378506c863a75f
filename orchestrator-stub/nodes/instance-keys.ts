import { createHash } from 'node:crypto';
import { placeOf, type Seal } from '../seal/seal.ts';
import type { Instance, InstanceKeys } from './instance.ts';

/**
 * An instance as the database has it. Where the keys of addresses stand there are their hashes, which find the row of a key that
 * comes in. The keys themselves, which new workflows need, are sealed.
 */
type StoredInstance = Instance & { sealedKeys: string };

export function sealInstance(instance: Instance, seal: Seal): string {
  const keys = keysOf(instance);
  const hashes = Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, hashOfKey(key)]));
  const sealedKeys = seal.seal(JSON.stringify(keys), placeOf('instances', instance.hostId));
  return JSON.stringify({ ...instance, ...hashes, sealedKeys } satisfies StoredInstance);
}

export function openInstance(stored: string, seal: Seal): Instance {
  const { sealedKeys, ...instance } = JSON.parse(stored) as StoredInstance;
  const keys = seal.open(sealedKeys, placeOf('instances', instance.hostId));
  return { ...instance, ...(JSON.parse(keys) as Partial<InstanceKeys>) };
}

/** Keys are random and long, so that a plain hash does not give them away. */
export function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** One from before there was a key per purpose has the first only. */
function keysOf({ firstBootKey, escrowKey, neighborsKey }: Instance): Partial<InstanceKeys> {
  return {
    firstBootKey,
    ...(escrowKey === undefined ? {} : { escrowKey }),
    ...(neighborsKey === undefined ? {} : { neighborsKey }),
  };
}
