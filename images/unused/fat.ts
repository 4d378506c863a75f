import {
  addRange,
  type ByteRange,
  doubtUnless,
  type FreeSpace,
  type PartitionReader,
} from './file-system.ts';

/** Boot sector: Microsoft FAT specification 1.03, section 3. */
const BOOT = {
  bytesPerSector: 11,
  sectorsPerCluster: 13,
  reservedSectors: 14,
  tables: 16,
  rootEntries: 17,
  sectors16: 19,
  media: 21,
  tableSectors16: 22,
  sectors32: 32,
  /** FAT12 and FAT16; Linux keeps "in use" and "had errors" in its low bits. */
  state16: 37,
  type16: 54,
  /** FAT32 only, from here. */
  tableSectors32: 36,
  extraFlags: 40,
  version: 42,
  infoSector: 48,
  state32: 65,
  type32: 82,
} as const;
const STATE_BITS = 0x3;
/** Section 3.5: the count of clusters decides between FAT12 and FAT16. */
const MAX_CLUSTERS_12 = 4084;
const MAX_CLUSTERS_16 = 65_524;
const MAX_CLUSTERS_32 = 0x0fff_fff4;
/** FSInfo, section 5: signatures and the count of free clusters. */
const INFO = { lead: 0, middle: 484, free: 488, length: 512 } as const;
const UNKNOWN_COUNT = 0xffffffff;

type Width = 12 | 16 | 32;

interface Layout {
  width: Width;
  tableAt: number;
  tableBytes: number;
  tables: number;
  dataAt: number;
  clusterBytes: number;
  clusters: number;
  end: number;
}

/** Free clusters of FAT12, FAT16 and FAT32 by their allocation table, of which all copies have to agree. */
export async function readFat(partition: PartitionReader): Promise<FreeSpace> {
  const boot = await partition.read(0, 512);
  const layout = readLayout(boot);
  const { width, tableAt, tableBytes, tables, dataAt, clusterBytes, clusters, end } = layout;
  doubtUnless(end <= partition.size, 'it is larger than its partition');
  const table = await partition.read(tableAt, tableBytes);
  for (let copy = 1; copy < tables; copy += 1) {
    const other = await partition.read(tableAt + copy * tableBytes, tableBytes);
    doubtUnless(table.equals(other), 'the copies of its allocation table differ');
  }
  doubtUnless(table[0] === boot[BOOT.media], 'its allocation table makes no sense');
  checkClean(boot, table, width);
  const free: ByteRange[] = [];
  let count = 0;
  for (let cluster = 2; cluster < clusters + 2; cluster += 1) {
    if (entryOf(table, cluster, width) !== 0) continue;
    count += 1;
    const start = dataAt + (cluster - 2) * clusterBytes;
    addRange(free, start, start + clusterBytes);
  }
  if (width === 32) await checkCount(partition, boot, count);
  return { end, free };
}

function readLayout(boot: Buffer): Layout {
  const sector = boot.readUInt16LE(BOOT.bytesPerSector);
  const perCluster = boot.readUInt8(BOOT.sectorsPerCluster);
  const reserved = boot.readUInt16LE(BOOT.reservedSectors);
  const tables = boot.readUInt8(BOOT.tables);
  const isSane =
    [512, 1024, 2048, 4096].includes(sector) &&
    [1, 2, 4, 8, 16, 32, 64, 128].includes(perCluster) &&
    reserved > 0 &&
    (tables === 1 || tables === 2);
  doubtUnless(isSane, 'its layout makes no sense');
  const tableSectors16 = boot.readUInt16LE(BOOT.tableSectors16);
  const tableSectors = tableSectors16 || boot.readUInt32LE(BOOT.tableSectors32);
  const sectors = boot.readUInt16LE(BOOT.sectors16) || boot.readUInt32LE(BOOT.sectors32);
  const rootSectors = Math.ceil((boot.readUInt16LE(BOOT.rootEntries) * 32) / sector);
  const dataSector = reserved + tables * tableSectors + rootSectors;
  const clusters = Math.floor((sectors - dataSector) / perCluster);
  const width = tableSectors16 === 0 ? 32 : clusters <= MAX_CLUSTERS_12 ? 12 : 16;
  const most = width === 32 ? MAX_CLUSTERS_32 : width === 16 ? MAX_CLUSTERS_16 : MAX_CLUSTERS_12;
  doubtUnless(clusters > 0 && clusters <= most, 'its layout makes no sense');
  // where firmware and Linux could count differently, the name must say the same
  const name = boot.toString('latin1', width === 32 ? BOOT.type32 : BOOT.type16).slice(0, 5);
  doubtUnless(name === `FAT${width}`, `it is called ${name} and laid out as FAT${width}`);
  if (width === 32) {
    const isPlain = boot.readUInt16LE(BOOT.extraFlags) === 0 && boot.readUInt16LE(BOOT.version) === 0;
    doubtUnless(isPlain && rootSectors === 0, 'it has features that are not known here');
  }
  const tableBytes = tableSectors * sector;
  doubtUnless(tableBytes >= ((clusters + 2) * width) / 8, 'its allocation table makes no sense');
  return {
    width,
    tableAt: reserved * sector,
    tableBytes,
    tables,
    dataAt: dataSector * sector,
    clusterBytes: perCluster * sector,
    clusters,
    end: sectors * sector,
  };
}

function entryOf(table: Buffer, cluster: number, width: Width): number {
  if (width === 32) return table.readUInt32LE(cluster * 4) & 0x0fff_ffff;
  if (width === 16) return table.readUInt16LE(cluster * 2);
  const pair = table.readUInt16LE(cluster + (cluster >> 1));
  return cluster & 1 ? pair >> 4 : pair & 0xfff;
}

/** Entry 1 says by two set bits that the last unmount was clean and without errors; Linux says it in the boot sector. */
function checkClean(boot: Buffer, table: Buffer, width: Width): void {
  const state = boot.readUInt8(width === 32 ? BOOT.state32 : BOOT.state16);
  const cleanBits = { 12: 0, 16: 0xc000, 32: 0x0c00_0000 }[width];
  const isClean = (state & STATE_BITS) === 0 && (entryOf(table, 1, width) & cleanBits) === cleanBits;
  doubtUnless(isClean, 'it was not unmounted cleanly');
}

async function checkCount(partition: PartitionReader, boot: Buffer, counted: number): Promise<void> {
  const at = boot.readUInt16LE(BOOT.infoSector);
  if (at === 0 || at === 0xffff) return;
  const info = await partition.read(at * boot.readUInt16LE(BOOT.bytesPerSector), INFO.length);
  const isInfo = info.readUInt32LE(INFO.lead) === 0x41615252 && info.readUInt32LE(INFO.middle) === 0x61417272;
  const stated = info.readUInt32LE(INFO.free);
  doubtUnless(isInfo, 'its information sector makes no sense');
  doubtUnless(stated === counted || stated === UNKNOWN_COUNT, 'its count of free clusters is wrong');
}
