import { z } from 'zod';
import { isGenuine } from '../../protocol/check-certificate.ts';
import type { SignedCertificate } from '../../protocol/erasure-certificate.ts';
import { certificatesIn } from '../../protocol/find-certificates.ts';
import type { DiskFacts } from '../../protocol/hardware-facts.ts';
import type { WrittenImage } from '../../protocol/shipping-record.ts';
import { WRITTEN_IMAGE_FIELD } from '../../protocol/written-image.ts';
import type { LogLine } from '../store/log-table.ts';

const digest = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .nullable()
  .catch(null)
  .default(null);
const WrittenSchema = z.object({
  sha256: digest,
  manifestRoot: digest,
  bytes: z.number().nonnegative().nullable().catch(null).default(null),
});
const CertificateSchema = z.looseObject({
  certificate: z.looseObject({ disk: z.looseObject({ path: z.string() }), finishedAt: z.string() }),
  publicKey: z.string(),
  signature: z.string(),
});

/** What the actions of a node left in its log besides words. */
export interface LogEvidence {
  /** Oldest first, each as it was signed. */
  certificates: SignedCertificate[];
  /** The last image that was written. */
  written: WrittenImage | null;
}

export function readEvidence(lines: readonly LogLine[]): LogEvidence {
  const certificates = lines.flatMap(({ fields }) => certificatesIn(fields)).filter(isWhole);
  const written = lines.flatMap(writtenIn).at(-1) ?? null;
  return { certificates, written };
}

/** The newest certificate of each disk, and those that are of none of them. */
export function assignCertificates(
  disks: readonly DiskFacts[],
  certificates: readonly SignedCertificate[],
): { ofDisk: Map<DiskFacts, SignedCertificate>; others: SignedCertificate[] } {
  const ofDisk = new Map<DiskFacts, SignedCertificate>();
  const others: SignedCertificate[] = [];
  for (const each of certificates.toSorted(byTime)) {
    const disk = disks.find((candidate) => isSameDisk(candidate, each.certificate.disk));
    if (disk) ofDisk.set(disk, each);
    else others.push(each);
  }
  return { ofDisk, others };
}

/** A path names another disk after a restart: it counts only where neither side has anything better. */
function isSameDisk(disk: DiskFacts, erased: SignedCertificate['certificate']['disk']): boolean {
  if (disk.wwn && erased.wwn) return disk.wwn === erased.wwn;
  if (disk.serial || erased.serial) return disk.serial === erased.serial;
  return !disk.wwn && !erased.wwn && disk.path === erased.path && disk.sizeBytes === erased.sizeBytes;
}

function isWhole(signed: SignedCertificate): boolean {
  return CertificateSchema.safeParse(signed).success && isGenuine(signed);
}

function byTime(a: SignedCertificate, b: SignedCertificate): number {
  return a.certificate.finishedAt < b.certificate.finishedAt ? -1 : 1;
}

/** A field of a log line is a text when it came over the network. */
function writtenIn({ time, fields }: LogLine): WrittenImage[] {
  const value = fields?.[WRITTEN_IMAGE_FIELD];
  if (value === undefined) return [];
  const read = WrittenSchema.safeParse(typeof value === 'string' ? parsed(value) : value);
  return read.success ? [{ at: time, ...read.data }] : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
