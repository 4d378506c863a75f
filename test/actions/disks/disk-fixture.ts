import type { Disk } from '../../../protocol/inventory.ts';

/** A plain SATA disk; tests change what matters to them. */
export function disk(changes: Partial<Disk> & { name: string }): Disk {
  return {
    path: `/dev/${changes.name}`,
    kind: 'disk',
    bus: 'sata',
    sizeBytes: 500e9,
    logicalSectorBytes: 512,
    physicalSectorBytes: 4096,
    isRotational: false,
    isRemovable: false,
    isReadOnly: false,
    isVirtualMedia: false,
    isBootMedium: false,
    links: [],
    partitions: [],
    signatures: [],
    ...changes,
  };
}
