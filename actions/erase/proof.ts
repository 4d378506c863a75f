import { createHash, randomBytes } from 'node:crypto';
import type { SampleCheck } from '../../protocol/erasure-certificate.ts';
import type { BlockDevice } from '../disks/block-device.ts';

export const SAMPLE_BYTES = 4096;

/** A block of known random data at a known place, written before the erase. Only its hash leaves the machine. */
export interface Sample {
  offset: number;
  sha256: string;
}

/** Where samples go: both ends, and random blocks between them. Pure but for the random numbers it is given. */
export function sampleOffsets(sizeBytes: number, count: number, random: () => number): number[] {
  const blocks = Math.floor(sizeBytes / SAMPLE_BYTES);
  const chosen = new Set([0, blocks - 1]);
  for (let tries = 0; chosen.size < Math.min(count, blocks) && tries < count * 10; tries++) {
    chosen.add(Math.floor(random() * blocks));
  }
  return [...chosen]
    .filter((block) => block >= 0)
    .sort((a, b) => a - b)
    .map((block) => block * SAMPLE_BYTES);
}

export async function plantSamples(device: BlockDevice, offsets: readonly number[]): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const offset of offsets) {
    const bytes = randomBytes(SAMPLE_BYTES);
    await device.writeAt(offset, bytes);
    samples.push({ offset, sha256: sha256(bytes) });
  }
  await device.sync();
  return samples;
}

export async function checkSamples(device: BlockDevice, samples: readonly Sample[]): Promise<SampleCheck[]> {
  const checks: SampleCheck[] = [];
  for (const sample of samples) {
    const bytes = await device.readAt(sample.offset, SAMPLE_BYTES);
    const isZero = bytes.every((byte) => byte === 0);
    checks.push({
      ...sample,
      found: isZero ? 'zeros' : sha256(bytes) === sample.sha256 ? 'unchanged' : 'other',
    });
  }
  return checks;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
