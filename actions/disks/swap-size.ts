const GIB = 2 ** 30;

/**
 * EMF's swap (docs/background/emf.md#disk-layouts): the root of the memory where data shares the disk, else half the
 * memory, 128 GiB at most.
 */
export function swapBytes({ ramBytes, otherDisks }: { ramBytes: number; otherDisks: number }): number {
  const ramGib = ramBytes / GIB;
  const gib =
    otherDisks === 0 ? Math.max(1, Math.round(Math.sqrt(ramGib))) : Math.min(128, Math.max(1, ramGib / 2));
  return gib * GIB;
}
