import type { GptPlace } from '../../protocol/image-manifest.ts';

/** Reads from the first chunk what a writer changes when it moves the backup GPT (UEFI 2.10, 5.3.2). */
export function readGptPlace(head: Buffer): GptPlace | undefined {
  for (const sectorSize of [512, 4096]) {
    if (head.length < sectorSize + 92 || head.toString('latin1', sectorSize, sectorSize + 8) !== 'EFI PART')
      continue;
    return {
      sectorSize,
      alternateLba: Number(head.readBigUInt64LE(sectorSize + 32)),
      lastUsableLba: Number(head.readBigUInt64LE(sectorSize + 48)),
      protectiveSectors: head.readUInt32LE(446 + 12),
    };
  }
  return undefined;
}
