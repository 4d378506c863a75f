import { createHash } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk, Signature } from '../../protocol/inventory.ts';
import { formatBytes } from '../../system/format-bytes.ts';
import type { ActionContext } from '../contract/action.ts';
import { describeDisk } from './describe-disk.ts';
import { type DiskIdentity, identityOf, isSameDisk } from './disk-identity.ts';

/** What will be destroyed and what is left alone, said before the first byte is written. */
export interface DiskPlan {
  purpose: string;
  destroys: PlannedDisk[];
  leavesAlone: { disk: DiskIdentity; reason: string }[];
}

interface PlannedDisk {
  disk: DiskIdentity;
  description: string;
  partitionTable?: string;
  /** "/dev/sda2 ext4 "rootfs" 4.3 GB", LVM, md and LUKS members included. */
  contents: string[];
}

export type ConsentPolicy = 'never' | 'non-empty' | 'always';

export function planFor(
  purpose: string,
  targets: readonly Disk[],
  others: readonly { disk: Disk; reason: string }[],
): DiskPlan {
  return {
    purpose,
    destroys: targets.map((disk) => ({
      disk: identityOf(disk),
      description: describeDisk(disk),
      ...(disk.partitionTable ? { partitionTable: disk.partitionTable } : {}),
      contents: contentsOf(disk),
    })),
    leavesAlone: others.map(({ disk, reason }) => ({ disk: identityOf(disk), reason })),
  };
}

function contentsOf(disk: Disk): string[] {
  const onDisk = disk.signatures.map((signature) => `${disk.path} ${describeSignature(signature)}`);
  const inPartitions = disk.partitions.map(({ path, partLabel, sizeBytes, signatures }) =>
    [
      path,
      partLabel && `“${partLabel}”`,
      signatures.map(describeSignature).join(' + ') || 'unknown content',
      formatBytes(sizeBytes),
    ]
      .filter(Boolean)
      .join(' '),
  );
  return [...onDisk, ...inPartitions];
}

function describeSignature({ type, label }: Signature): string {
  return label ? `${type} "${label}"` : type;
}

/**
 * The hash an operator consents to. Kernel names are left out where the disk has an identity of its own, so that consent given
 * before a reboot still holds after it, and only for the same disks with the same contents.
 */
export function hashPlan(plan: DiskPlan): string {
  const stable = {
    purpose: plan.purpose,
    destroys: plan.destroys
      .map(({ disk, partitionTable, contents }) => ({
        disk: withoutPath(disk),
        partitionTable,
        contents: contents.map((text) => (hasIdentity(disk) ? text.replace(/^\S+ /, '') : text)),
      }))
      .map((entry) => JSON.stringify(entry))
      .sort(),
  };
  return createHash('sha256').update(JSON.stringify(stable)).digest('hex');
}

const hasIdentity = ({ serial, wwn }: DiskIdentity) => serial !== undefined || wwn !== undefined;

function withoutPath(disk: DiskIdentity): Partial<DiskIdentity> {
  if (!hasIdentity(disk)) return disk;
  const { path: _, ...rest } = disk;
  return rest;
}

/** The plan in words, for the console and the log. */
export function describePlan(plan: DiskPlan): string[] {
  const lines = plan.destroys.flatMap(({ description, partitionTable, contents }) => [
    `${plan.purpose}: destroys everything on ${description}`,
    contents.length > 0 || partitionTable
      ? `  now on it: ${[partitionTable && `${partitionTable} table`, ...contents].filter(Boolean).join('; ')}`
      : '  now on it: no partitions or file systems found',
  ]);
  return [...lines, ...plan.leavesAlone.map(({ disk, reason }) => `leaves alone ${disk.path}: ${reason}`)];
}

/** Shows the plan to everyone who should see it, and stops if the site wants to be asked and has not said yes to this very plan. */
export function announcePlan(
  context: Pick<ActionContext, 'emit'>,
  plan: DiskPlan,
  consent: { policy: ConsentPolicy; given: string | undefined },
): string {
  const hash = hashPlan(plan);
  context.emit({ type: 'plan', hash, summary: describePlan(plan), plan });
  const isEmpty = plan.destroys.every(
    ({ partitionTable, contents }) => !partitionTable && contents.length === 0,
  );
  const isAsked = consent.policy === 'always' || (consent.policy === 'non-empty' && !isEmpty);
  if (isAsked && consent.given !== hash) {
    throw new KindlingError(
      'KND_CONSENT_REQUIRED',
      // The report of this failure gets the hash of the plan that was announced above (protocol/failure-text.ts).
      describePlan(plan).join('; '),
      {
        hint: `Approve it (“kindling workflow approve”), or run the action again with KINDLING_CONSENT=${hash}.`,
        evidence: { hash, plan, wrongConsent: consent.given !== undefined },
      },
    );
  }
  return hash;
}

/** Right before the first write: the disks must still be the ones the plan was made for. */
export function checkPlanHolds(plan: DiskPlan, disksNow: readonly Disk[]): void {
  for (const { disk: planned, description } of plan.destroys) {
    const now = disksNow.find(({ path }) => path === planned.path);
    if (now && isSameDisk(planned, now)) continue;
    throw new KindlingError(
      'KND_PLAN_STALE',
      `the plan was made for ${description}, but ${planned.path} is now ${now ? describeDisk(now) : 'gone'}; nothing was written`,
      { evidence: { planned, now: now ? identityOf(now) : null } },
    );
  }
}

/** The variables every destructive action takes for this. */
export const CONSENT_PARAMETERS = {
  KINDLING_REQUIRE_CONSENT: {
    type: 'choice',
    choices: ['never', 'non-empty', 'always'],
    default: 'never',
    description: 'When the plan must be approved first: never, if the disk is not empty, or always',
  },
  KINDLING_CONSENT: { type: 'text', description: 'The hash of the plan that was approved' },
} as const;
