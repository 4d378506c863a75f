import { createHash } from 'node:crypto';
import { closeSync, constants, createReadStream, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type Piece, shuttingStages } from '../../formats/partition-table/doors.ts';
import { KindlingError } from '../../protocol/error.ts';
import { run } from '../../system/run.ts';
import { STICK_SECTOR_BYTES } from './layout.ts';

/** Something that has its place on the medium: bytes, or a file. */
export interface Region {
  name: string;
  offset: number;
  source: Buffer | { file: string };
}

/** How the medium is opened: a device, a file that is made now, or one that was made before. */
export type Medium = { kind: 'device' } | { kind: 'new-file'; sizeBytes: number } | { kind: 'file' };

const FLAGS: Record<Medium['kind'], number> = {
  // O_EXCL without O_CREAT: the kernel refuses a block device that is mounted or otherwise taken.
  device: constants.O_RDWR | constants.O_EXCL,
  'new-file': constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC,
  file: constants.O_RDWR,
};

const BLOCK = 4 * 1024 * 1024;

/** From here on nothing on this stick boots; a file is made. */
export async function shutStick(path: string, medium: Medium, diskBytes: number): Promise<void> {
  if (medium.kind === 'new-file') return writeStages(path, medium, []);
  const fd = openSync(path, 'r');
  try {
    const read = (position: number, length: number) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(fd, bytes, 0, length, position));
    };
    await writeStages(path, medium, shuttingStages(diskBytes, STICK_SECTOR_BYTES, read));
  } finally {
    closeSync(fd);
  }
}

/**
 * Writes one stage after the other; what belongs to one is on the medium before the next begins. Then `regions`, which is what they make
 * together, is read back and compared.
 */
export async function writeStages(
  path: string,
  medium: Medium,
  stages: readonly Piece[][],
  regions: readonly (Region & { source: Buffer })[] = [],
  onProgress: (text: string) => void = () => {},
): Promise<void> {
  const target = await openMedium(path, medium);
  try {
    for (const stage of stages) {
      for (const { position, bytes } of stage) await target.write(bytes, 0, bytes.length, position);
      await target.sync();
    }
  } finally {
    await target.close();
  }
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  const hashes = new Map(regions.map((region) => [region, hashOf(region.source)]));
  await verifyRegions(path, medium, regions, hashes, onProgress);
}

/** Writes the regions in order, syncs, reads everything back and compares. The caller puts the table last. */
export async function writeRegions(
  path: string,
  medium: Medium,
  regions: readonly Region[],
  onProgress: (text: string) => void,
): Promise<void> {
  const target = await openMedium(path, medium);
  const hashes = new Map<Region, string>();
  try {
    for (const region of regions) {
      onProgress(`writing ${region.name}`);
      hashes.set(region, await writeRegion(target, region));
    }
    await target.sync();
  } finally {
    await target.close();
  }
  await verifyRegions(path, medium, regions, hashes, onProgress);
}

async function openMedium(path: string, medium: Medium): Promise<FileHandle> {
  const target = await open(path, FLAGS[medium.kind], 0o600).catch((cause: unknown) => {
    throw new KindlingError('KND_STICK_TARGET_REFUSED', `${path} cannot be opened for writing`, { cause });
  });
  if (medium.kind === 'new-file') await target.truncate(medium.sizeBytes);
  return target;
}

async function writeRegion(target: FileHandle, { offset, source }: Region): Promise<string> {
  const hash = createHash('sha256');
  let at = offset;
  const chunks = Buffer.isBuffer(source) ? [source] : createReadStream(source.file, { highWaterMark: BLOCK });
  for await (const chunk of chunks) {
    const bytes = chunk as Buffer;
    hash.update(bytes);
    await target.write(bytes, 0, bytes.length, at);
    at += bytes.length;
  }
  return hash.digest('hex');
}

async function verifyRegions(
  path: string,
  medium: Medium,
  regions: readonly Region[],
  hashes: ReadonlyMap<Region, string>,
  onProgress: (text: string) => void,
): Promise<void> {
  // Without this the kernel would answer from its memory what the stick may have forgotten.
  if (medium.kind === 'device') await run('blockdev', ['--flushbufs', path], { foreground: true });
  const target = await open(path, 'r');
  try {
    for (const region of regions) {
      onProgress(`reading back ${region.name}`);
      const { source, offset } = region;
      const length = Buffer.isBuffer(source) ? source.length : await sizeOf(source.file);
      if ((await hashOfRange(target, offset, length)) !== hashes.get(region)) {
        throw new KindlingError(
          'KND_STICK_VERIFY',
          `${path}: ${region.name} does not read back as it was written`,
          {
            evidence: { region: region.name, offset, length },
          },
        );
      }
    }
  } finally {
    await target.close();
  }
}

async function sizeOf(file: string): Promise<number> {
  const handle = await open(file, 'r');
  try {
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/** SHA-256 of a part of a file or device. */
async function hashOfRange(target: FileHandle, offset: number, length: number): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(Math.min(BLOCK, Math.max(length, 1)));
  for (let done = 0; done < length; ) {
    const { bytesRead } = await target.read(buffer, 0, Math.min(buffer.length, length - done), offset + done);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    done += bytesRead;
  }
  return hash.digest('hex');
}
