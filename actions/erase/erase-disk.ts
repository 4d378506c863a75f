import { probeSignatures } from '../../formats/disk-signatures/probe.ts';
import { readPartitionTable } from '../../formats/partition-table/read.ts';
import type { ERASE_METHODS } from '../../protocol/erase-methods.ts';
import type { ErasureCertificate } from '../../protocol/erasure-certificate.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { identityOf } from '../disks/disk-identity.ts';
import { removeOurPassword, unlockOurs } from '../resources/ata-password.ts';
import { secureEraseAta } from './ata-security.ts';
import { readCapabilities } from './capabilities.ts';
import { certify } from './certificate.ts';
import { tearDownHolders } from './holders.ts';
import { chooseMethod, type EraseCapabilities, type EraseMethod, READS_AS_ZERO } from './methods.ts';
import type { AdminCommand } from './nvme-admin.ts';
import { formatNvme, namespaceOf } from './nvme-commands.ts';
import { namespacesBeside } from './nvme-namespaces.ts';
import { sanitizeNvme, settleSanitize } from './nvme-sanitize.ts';
import { checkSamples, plantSamples, SAMPLE_BYTES, type Sample, sampleOffsets } from './proof.ts';
import { regionsToClear } from './regions.ts';

export interface EraseRequest {
  disk: Disk;
  method: (typeof ERASE_METHODS)[number];
  samples: number;
  /** Disks that stay; a method that cannot tell this one from them is refused. */
  kept?: readonly Disk[];
}

export type EraseContext = Pick<ActionContext, 'run' | 'log' | 'signal' | 'resources'> & {
  onProgress: (stage: string, percent?: number) => void;
  /** How NVMe controllers are spoken to; tests pass their own. */
  nvme?: AdminCommand;
};

/** A disk on which nothing stands any more, with data planted that must be gone afterwards. */
export interface PreparedDisk {
  disk: Disk;
  method: EraseMethod;
  capabilities: EraseCapabilities;
  samples: Sample[];
  startedAt: string;
}

/** Erases one disk and says what of it is proved. */
export async function eraseDisk(request: EraseRequest, context: EraseContext): Promise<ErasureCertificate> {
  const prepared = await prepareDisk(request, context);
  await applyMethod(prepared, context);
  return request.method === 'auto' ? checkOrFallBack(prepared, context) : checkErased(prepared, context);
}

/** What `auto` goes on with where the disk did not do what it said it can; slower and surer from left to right. */
const FALLBACKS: readonly EraseMethod[] = ['quick', 'zeroes'];

/**
 * `auto` promises a disk that is ready for a new system, not a proof, so it does not fail a disk that ignores discard:
 * NVMe's deallocate is a hint by its specification, and so is ATA's TRIM.
 */
async function checkOrFallBack(prepared: PreparedDisk, context: EraseContext): Promise<ErasureCertificate> {
  let current = prepared;
  for (const next of FALLBACKS.filter((method) => method !== prepared.method)) {
    try {
      return await checkErased(current, context);
    } catch (thrown) {
      if (!(thrown instanceof KindlingError) || thrown.code !== 'KND_ERASE_INCOMPLETE') throw thrown;
      context.log(
        'warn',
        `${thrown.message}. Going on with ${next}. For a proof of erasure choose a method: ERASE_METHOD=nvme-format, say`,
      );
    }
    current = await prepareAgain(current, next);
    await applyMethod(current, context);
  }
  return checkErased(current, context);
}

/** The samples are ours, and nobody else clears them. */
async function prepareAgain(prepared: PreparedDisk, method: EraseMethod): Promise<PreparedDisk> {
  const samples = await withDevice(prepared.disk, async (device) => {
    const offsets = prepared.samples.map(({ offset }) => offset);
    if (method !== 'quick') return plantSamples(device, offsets);
    for (const offset of offsets) await device.zero(offset, SAMPLE_BYTES);
    await device.sync();
    return [];
  });
  return { ...prepared, method, samples };
}

/** Up to the point where the next step is the erase itself. */
export async function prepareDisk(request: EraseRequest, context: EraseContext): Promise<PreparedDisk> {
  const { disk } = request;
  const startedAt = new Date().toISOString();

  // 1. Nothing may stand on the disk.
  await tearDownHolders(disk.name, context.run, (message) => context.log('info', message));

  // 2. The method, by what the disk can do.
  const capabilities = await capabilitiesFor(request, context);
  const method = chooseMethod(request.method, disk.path, {
    ...capabilities,
    keptNamespaces: namespacesBeside(disk, request.kept ?? []),
  });
  context.log('info', `erasing ${disk.path} by ${method}`);

  // 3. What an earlier run began and the drive is not through with.
  const how = capabilities.nvme?.sanitize;
  if (how) await settleSanitize(disk.path, { method, how }, context);

  // 4. Known data at known places, to see later whether it is gone.
  const samples = await withDevice(disk, async (device) =>
    method === 'quick'
      ? []
      : plantSamples(device, sampleOffsets(device.sizeBytes, request.samples, Math.random)),
  );
  return { disk, method, capabilities, samples, startedAt };
}

/** After the erase itself: looks whether the data is gone, clears what tools look for, and looks again. */
export async function checkErased(
  { disk, method, samples, startedAt }: PreparedDisk,
  context: EraseContext,
): Promise<ErasureCertificate> {
  // 5. Past the page cache, and before anything is overwritten from here, which would hide it.
  context.onProgress('checking');
  const checks = await withDevice(disk, (device) => checkSamples(device, samples));

  // 6. Every place where tools look for something.
  context.onProgress('clearing signatures');
  await withDevice(disk, (device) => clearSignatures(device, disk, context.signal));

  // 7. The kernel forgets the old partitions.
  await context.run('blockdev', ['--rereadpt', disk.path], { okExitCodes: [0, 1] });

  // 8. Look again.
  const remains = await withDevice(disk, (device) => whatRemains(device, disk));
  const certificate = certify({
    disk: identityOf(disk),
    method,
    startedAt,
    finishedAt: new Date().toISOString(),
    samples: checks,
    isBlank: remains.length === 0,
  });
  const isWrong = checks.some(
    ({ found }) => found === 'unchanged' || (READS_AS_ZERO.has(method) && found !== 'zeros'),
  );
  if (isWrong || remains.length > 0) {
    throw new KindlingError('KND_ERASE_INCOMPLETE', whatIsWrong(disk, method, remains), {
      evidence: { certificate, remains },
    });
  }
  context.onProgress('erased', 100);
  return certificate;
}

function whatIsWrong(disk: Disk, method: EraseMethod, remains: string[]): string {
  if (remains.length > 0) return `${disk.path} was erased by ${method}, but still has ${remains.join(', ')}`;
  return `${disk.path} ignores ${method}: test data written before the erase is still there`;
}

/** A disk that an erase of ours left with its password is opened and freed of it first, whatever the method is now. */
async function capabilitiesFor({ disk }: EraseRequest, { run, nvme }: EraseContext) {
  const capabilities = await readCapabilities(disk, run, nvme);
  const { ata } = capabilities;
  if (!ata?.enabled || ata.frozen) return capabilities;
  if (ata.locked && !(await unlockOurs(disk.path, run))) return capabilities;
  await removeOurPassword(disk.path, run);
  return readCapabilities(disk, run, nvme);
}

async function withDevice<T>(disk: Disk, work: (device: BlockDevice) => Promise<T>): Promise<T> {
  await using device = await BlockDevice.open(disk.path);
  return await work(device);
}

async function clearSignatures(device: BlockDevice, disk: Disk, signal: AbortSignal): Promise<void> {
  const read = device.readAt.bind(device);
  const found = await probeSignatures(read, device.sizeBytes);
  const inPartitions = await Promise.all(
    disk.partitions.map(async ({ startBytes, sizeBytes }) => {
      const inside = await probeSignatures((offset, length) => read(startBytes + offset, length), sizeBytes);
      return inside.map((signature) => ({ ...signature, magicOffset: signature.magicOffset + startBytes }));
    }),
  );
  for (const { start, end } of regionsToClear(disk, [...found, ...inPartitions.flat()])) {
    await device.zero(start, end - start, { signal });
  }
  await device.sync();
}

async function whatRemains(device: BlockDevice, disk: Disk): Promise<string[]> {
  const read = device.readAt.bind(device);
  const table = await readPartitionTable(read, device.sizeBytes, disk.logicalSectorBytes);
  const onDisk = await probeSignatures(read, device.sizeBytes);
  const inPartitions = await Promise.all(
    disk.partitions.map(({ startBytes, sizeBytes }) =>
      probeSignatures((offset, length) => read(startBytes + offset, length), sizeBytes),
    ),
  );
  return [
    ...(table ? [`a ${table.kind} partition table`] : []),
    ...[...onDisk, ...inPartitions.flat()].map(({ type, magicOffset }) => `${type} at byte ${magicOffset}`),
  ];
}

/** The erase itself; of the whole controller, where the method is one of the controller. */
export async function applyMethod(
  { disk, method, capabilities }: PreparedDisk,
  context: EraseContext,
): Promise<void> {
  const { run, onProgress, signal, nvme } = context;
  onProgress(method);
  switch (method) {
    case 'quick':
      return;
    case 'discard':
      await run('blkdiscard', [disk.path]);
      return;
    case 'zeroes':
    case 'overwrite':
      if (method === 'zeroes' && capabilities.writeZeroes && (await zeroByDevice(disk, context))) return;
      await withDevice(disk, async (device) => {
        const report = (bytes: number) => onProgress('overwriting', (bytes / device.sizeBytes) * 100);
        await device.zero(0, device.sizeBytes, { signal, onProgress: report });
        await device.sync();
      });
      return;
    case 'nvme-format':
    case 'nvme-crypto':
      // Never the default SES=0, which erases nothing on many disks (FOG shipped that for three years).
      await formatNvme(disk.path, namespaceOf(disk.name), method === 'nvme-crypto' ? 2 : 1, nvme);
      return;
    case 'nvme-sanitize':
      await sanitizeNvme(disk.path, capabilities.nvme?.sanitize ?? 'block', context);
      return;
    case 'ata-secure-erase':
      await secureEraseAta(disk.path, capabilities.ata, context);
      return;
  }
}

/** In pieces, so that there is progress and a cancel takes effect. False if it cannot be done this way (busybox's blkdiscard has no -z). */
async function zeroByDevice(disk: Disk, { run, log, onProgress, signal }: EraseContext): Promise<boolean> {
  const piece = 1 << 30;
  for (let offset = 0; offset < disk.sizeBytes; offset += piece) {
    signal.throwIfAborted();
    const length = Math.min(piece, disk.sizeBytes - offset);
    try {
      await run('blkdiscard', ['-z', '-o', String(offset), '-l', String(length), disk.path]);
    } catch (cause) {
      signal.throwIfAborted();
      log(
        'warn',
        `${disk.path} is overwritten from here instead: ${cause instanceof Error ? cause.message : cause}`,
      );
      return false;
    }
    onProgress('zeroing', ((offset + length) / disk.sizeBytes) * 100);
  }
  return true;
}
