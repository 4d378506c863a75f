/** Reads `length` bytes at `offset`; fewer at the end of the device. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer>;

export interface PartitionEntry {
  /** As in /dev/sda<number>. */
  number: number;
  startBytes: number;
  sizeBytes: number;
  /** GPT type GUID, lower case; or the MBR type as 0x83. */
  type: string;
  /** GPT unique GUID; for MBR <disk signature>-<number> as the kernel builds PARTUUID. */
  partUuid?: string;
  partLabel?: string;
  /** GPT only: bit 0 needed by the platform, bit 2 legacy boot, bits 48–63 by type. */
  attributes?: bigint;
}

export interface PartitionTable {
  kind: 'gpt' | 'mbr';
  /** GPT disk GUID or MBR disk signature. */
  id?: string;
  /** The sector size the table was made for; a 4Kn image on a 512-byte disk shows here. */
  sectorBytes: number;
  partitions: PartitionEntry[];
  /** GPT only: which of the two headers are there and right (CRC). A good table has both. */
  copies?: { primary: boolean; backup: boolean };
}
