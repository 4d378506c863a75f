import { open } from 'node:fs/promises';
import { probeSignatures, summarizeSignatures } from '../../formats/disk-signatures/probe.ts';
import { readPartitionTable } from '../../formats/partition-table/read.ts';
import type { PartitionTable, ReadAt } from '../../formats/partition-table/table.ts';
import type { Disk, Partition } from '../../protocol/inventory.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import type { BootMedium } from './boot-medium.ts';
import { type DiskFacts, readDiskFacts } from './disk-facts.ts';

/** Every block device of the machine with what is on it. Devices without a medium or with no size are left out. */
export async function readDisks(files: MachineFiles, bootMedium: BootMedium): Promise<Disk[]> {
  const facts = readDiskFacts(files).filter(({ sizeBytes }) => sizeBytes > 0);
  return Promise.all(facts.map((disk) => withContents(files, disk, bootMedium)));
}

/** A disk that cannot be read is still a disk, and never an empty one: what is on it is not known. */
async function withContents(files: MachineFiles, facts: DiskFacts, bootMedium: BootMedium): Promise<Disk> {
  const contents = await readContents(files, facts).catch((cause: NodeJS.ErrnoException) => ({
    partitions: [],
    // Without a device node it cannot be written either.
    signatures: cause.code === 'ENOENT' ? [] : [{ type: 'unreadable' }],
  }));
  const disk: Disk = { ...facts, isBootMedium: false, ...contents };
  return { ...disk, isBootMedium: isBootMedium(disk, bootMedium) };
}

async function readContents(
  files: MachineFiles,
  facts: DiskFacts,
): Promise<Pick<Disk, 'partitionTable' | 'partitions' | 'signatures'>> {
  if (facts.kind === 'cdrom' || facts.kind === 'floppy') return { partitions: [], signatures: [] }; // spins up, may block
  const handle = await open(files.path(facts.path), 'r');
  try {
    const readAt: ReadAt = async (offset, length) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    };
    const table = await readPartitionTable(readAt, facts.sizeBytes, facts.logicalSectorBytes);
    const signatures = summarizeSignatures(await probeSignatures(readAt, facts.sizeBytes));
    const partitions = table ? await readPartitions(readAt, facts, table) : [];
    return { ...(table ? { partitionTable: table.kind } : {}), partitions, signatures };
  } finally {
    await handle.close();
  }
}

async function readPartitions(readAt: ReadAt, facts: DiskFacts, table: PartitionTable): Promise<Partition[]> {
  const separator = /\d$/.test(facts.name) ? 'p' : '';
  const partitions: Partition[] = [];
  for (const { number, startBytes, sizeBytes, type, partUuid, partLabel } of table.partitions) {
    const size = Math.max(0, Math.min(sizeBytes, facts.sizeBytes - startBytes));
    const inPartition: ReadAt = (offset, length) =>
      readAt(startBytes + offset, Math.min(length, size - offset));
    partitions.push({
      number,
      path: `${facts.path}${separator}${number}`,
      startBytes,
      sizeBytes,
      typeGuid: type,
      ...(partUuid ? { partUuid } : {}),
      ...(partLabel ? { partLabel } : {}),
      signatures: summarizeSignatures(await probeSignatures(inPartition, size)),
    });
  }
  return partitions;
}

function isBootMedium({ partitions, signatures }: Disk, { partUuids, names }: BootMedium): boolean {
  const isNamed = (name: string | undefined) => name !== undefined && names.includes(name);
  return (
    signatures.some(({ label, uuid }) => isNamed(label) || isNamed(uuid)) ||
    partitions.some(
      ({ partUuid, partLabel, signatures: found }) =>
        (partUuid !== undefined && partUuids.includes(partUuid)) ||
        isNamed(partLabel) ||
        found.some(({ label, uuid }) => isNamed(label) || isNamed(uuid)),
    )
  );
}
