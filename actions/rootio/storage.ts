import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import { usableRange } from '../../formats/partition-table/gpt-encode.ts';
import type { MbrPartition } from '../../formats/partition-table/mbr-encode.ts';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import type { PartitionEntry } from '../../formats/partition-table/table.ts';
import { KindlingError } from '../../protocol/error.ts';

const whole = z.pipe(
  z.union([z.number(), z.string()]),
  z.transform((value) => Number(value)),
);

/** LVM: sizes in bytes, 0 is the rest of the group. */
const VolumeGroups = z._default(
  z.array(
    z.object({
      name: z.string(),
      physical_volumes: z.array(z.string()),
      logical_volumes: z._default(z.array(z.object({ name: z.string(), size: whole })), []),
    }),
  ),
  [],
);

/** The part of Hegel's (Tootles') metadata that rootio reads; both spellings that have been in use. */
const Storage = z.object({
  disks: z._default(
    z.array(
      z.object({
        device: z.string(),
        wipe_table: z.optional(z.boolean()),
        wipeTable: z.optional(z.boolean()),
        partitions: z._default(
          z.array(
            z.object({ label: z.string(), number: whole, size: whole, type_guid: z.optional(z.string()) }),
          ),
          [],
        ),
      }),
    ),
    [],
  ),
  filesystems: z._default(
    z.array(
      z.object({
        mount: z.object({
          device: z.string(),
          format: z.string(),
          point: z._default(z.string(), ''),
          create: z._default(z.object({ options: z._default(z.array(z.string()), []) }), { options: [] }),
        }),
      }),
    ),
    [],
  ),
  volume_groups: VolumeGroups,
});
const Metadata = z.object({ metadata: z.object({ instance: z.object({ storage: Storage }) }) });

export type RootioStorage = z.infer<typeof Storage>;
export type RootioDisk = RootioStorage['disks'][number];
export type RootioVolumeGroup = RootioStorage['volume_groups'][number];

export function parseMetadata(json: string): RootioStorage {
  let document: unknown;
  try {
    document = JSON.parse(json);
  } catch (cause) {
    throw new KindlingError('KND_METADATA_INVALID', 'the metadata is not JSON', { cause });
  }
  const parsed = Metadata.safeParse(document);
  if (parsed.success) return parsed.data.metadata.instance.storage;
  throw new KindlingError(
    'KND_METADATA_INVALID',
    `the metadata has no usable storage: ${z.prettifyError(parsed.error)}`,
  );
}

const MIB = 2 ** 20;
/** Labels that set the type of a GPT partition, as in the reference. */
const TYPES: Record<string, string> = {
  SWAP: PARTITION_TYPES.swap,
  BIOS: PARTITION_TYPES.bios,
  EFI: PARTITION_TYPES.esp,
};

/** Partitions for a disk: sizes are in sectors of 512 bytes, 0 is the rest of the disk, each starts on a whole MiB. */
export function planPartitions(
  { device, partitions }: RootioDisk,
  disk: { sizeBytes: number; sectorBytes: number },
  newGuid: () => string = randomUUID,
): PartitionEntry[] {
  let next = MIB;
  const { end } = usableRange(disk);
  return partitions
    .toSorted((a, b) => a.number - b.number)
    .map(({ label, number, size, type_guid }, index, all) => {
      if (size === 0 && index !== all.length - 1) {
        throw new KindlingError(
          'KND_PARTITION_LAYOUT',
          `partition ${number} of ${device} takes the rest of the disk, but others follow`,
        );
      }
      const startBytes = next;
      const wanted = size === 0 ? Math.floor((end - startBytes) / MIB) * MIB : size * 512;
      const sizeBytes = Math.ceil(wanted / disk.sectorBytes) * disk.sectorBytes;
      next = Math.ceil((startBytes + sizeBytes) / MIB) * MIB;
      return {
        number,
        startBytes,
        sizeBytes,
        type: type_guid ?? TYPES[label] ?? PARTITION_TYPES.linux,
        partUuid: newGuid(),
        partLabel: label,
      };
    });
}

/** MBR types by label, as in the reference. */
const MBR_TYPES: Record<string, number> = { SWAP: 0x82, LINUX: 0x83, FAT32: 0x0c };

/** The same for an MBR: four partitions at most, and "_ACTIVE" marks the one that boots. */
export function planMbrPartitions(
  wanted: RootioDisk,
  disk: { sizeBytes: number; sectorBytes: number },
): MbrPartition[] {
  // Nothing is kept at the end of the disk, but the rest is rounded down to whole MiBs all the same.
  return planPartitions(wanted, disk).map(({ number, startBytes, sizeBytes, partLabel = '' }) => {
    const [name = '', isActive] = [partLabel.replace(/_ACTIVE$/, ''), partLabel.endsWith('_ACTIVE')];
    const type = MBR_TYPES[name];
    if (type === undefined) {
      throw new KindlingError(
        'KND_PARTITION_LAYOUT',
        `partition ${number} of ${wanted.device}: "${partLabel}" is not one of SWAP, LINUX, LINUX_ACTIVE, FAT32, FAT32_ACTIVE`,
      );
    }
    return { number, startBytes, sizeBytes, type, isActive };
  });
}

/** The command that makes a file system; undefined for one that is not known. */
export function formatCommand(
  format: string,
  options: readonly string[],
  device: string,
): [string, string[]] | undefined {
  switch (format) {
    case 'swap':
      return ['mkswap', [...options, device]];
    case 'ext2':
    case 'ext3':
    case 'ext4':
      return ['mke2fs', ['-t', format, '-F', ...options, device]];
    case 'vfat':
      return ['mkfs.vfat', [...options, device]];
    case 'xfs':
      return ['mkfs.xfs', ['-f', ...options, device]];
    default:
      return undefined;
  }
}
