import { type DiskView, finderSectors, findSystems } from './find-system.ts';

/** A system that was whole on this disk, or is to be. */
export interface KnownSystem {
  finders: ReadonlySet<number>;
  /** Does this sector hold what it holds in the system? */
  hasSector: (disk: DiskView, sector: number) => boolean;
}

/**
 * Is there nothing on the disk that anybody would find, or all of one of the systems? Otherwise the answer says what is wrong. What
 * starts from LBA 0 needs all the rest; on other ways the sectors that only lead to it may be missing.
 */
export function judge(disk: DiskView, systems: readonly KnownSystem[]): 'nothing' | 'whole' | string {
  const ways = findSystems(disk);
  if (ways.length === 0) return 'nothing';
  const needsAll = ways.includes('boot sector');
  const wrongSectors = ({ finders, hasSector }: KnownSystem) => {
    let count = 0;
    for (let sector = 0; sector < disk.sectorCount; sector += 1) {
      if ((needsAll || !finders.has(sector)) && !hasSector(disk, sector)) count += 1;
    }
    return count;
  };
  const wrong = Math.min(...systems.map(wrongSectors));
  return wrong === 0 ? 'whole' : `found by ${ways.join(', ')}, and ${wrong} sectors are wrong`;
}

/** A disk that is all in memory. */
export const viewOf = (disk: Buffer, sectorSize: number): DiskView => ({
  sectorSize,
  sectorCount: disk.length / sectorSize,
  sector: (number) => disk.subarray(number * sectorSize, (number + 1) * sectorSize),
});

export function systemOn(disk: Buffer, sectorSize: number): KnownSystem {
  const known = viewOf(disk, sectorSize);
  return {
    finders: finderSectors(known),
    hasSector: (other, sector) => other.sector(sector).equals(known.sector(sector)),
  };
}
