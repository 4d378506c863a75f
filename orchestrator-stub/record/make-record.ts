import { createHash } from 'node:crypto';
import { redact } from '../../net/redact.ts';
import type { AuditLine } from '../../protocol/audit.ts';
import type { FloorNode } from '../../protocol/floor.ts';
import type { RecordedStage, RecordOutcome, ShippingRecord } from '../../protocol/shipping-record.ts';
import { FIRST_BOOT } from '../floor/stage.ts';
import type { Discovery } from '../nodes/discovery.ts';
import { hardwareFacts } from '../nodes/hardware-facts.ts';
import type { Host } from '../nodes/host.ts';
import type { Instance } from '../nodes/instance.ts';
import type { Profile } from '../nodes/profile.ts';
import type { LogLine } from '../store/log-table.ts';
import type { StoredWorkflow } from '../workflow/workflow.ts';
import { assignCertificates, readEvidence } from './log-evidence.ts';

/** Everything that the orchestrator has of one node. */
export interface NodeFile {
  host: Host;
  row: FloorNode;
  instance: Instance | undefined;
  profile: Profile | undefined;
  inventory: Discovery | undefined;
  /** The newest that installs a system. */
  workflow: StoredWorkflow | undefined;
  lines: readonly LogLine[];
  audit: readonly AuditLine[];
}

/** The record of a node as it is now. */
export function makeRecord(file: NodeFile, site: string, now: Date): ShippingRecord {
  const { host, row, instance, profile, inventory, lines, audit } = file;
  const { certificates, written } = readEvidence(lines);
  const { disks, ...hardware } = hardwareFacts(inventory);
  const { ofDisk, others } = assignCertificates(disks, certificates);
  return {
    version: 1,
    madeAt: now.toISOString(),
    site,
    node: {
      id: host.id,
      name: host.name,
      uuid: host.uuid,
      serial: row.serial,
      macs: row.macs,
      place: row.place,
      site: host.site,
      metadata: host.metadata,
    },
    hardware: { ...hardware, disks: disks.map((disk) => ({ ...disk, erasure: ofDisk.get(disk) ?? null })) },
    otherErasures: others,
    proof: host.ekHash
      ? {
          ekHash: host.ekHash,
          provenAt: host.proven?.at ?? null,
          certifiedBy: host.proven?.certifiedBy ?? null,
        }
      : null,
    system: {
      profile: instance?.profile ?? null,
      generation: instance?.generation ?? 0,
      imageUrl: profile ? redact(profile.imageUrl) : null,
      imageSha256: profile?.imageSha256 || null,
      written,
      firstBootAt: instance?.firstBootAt ?? null,
    },
    outcome: outcomeOf(row),
    stages: stagesOf(file),
    people: audit
      .filter(({ result }) => result === 'done')
      .map(({ at, who, role, from, action }) => ({ at, who, role, station: from, action })),
    log: { lines: lines.length, sha256: createHash('sha256').update(logText(lines)).digest('hex') },
  };
}

/** The log as a batch has it: one JSON object per line. */
export function logText(lines: readonly LogLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function outcomeOf({ group, statusText, reason }: FloorNode): RecordOutcome {
  return {
    verdict: group === 'done' ? 'done' : group === 'needs-hand' ? 'failed' : 'open',
    status: statusText,
    reason: reason && { code: reason.code, message: reason.message },
  };
}

function stagesOf({ workflow, instance }: NodeFile): RecordedStage[] {
  if (!workflow) return [];
  const { definition, progress } = workflow;
  const actions = definition.actions.flatMap(({ name }, index): RecordedStage[] => {
    const action = progress.actions[index];
    if (!action) return [];
    const { state, attempt, startedAt, stoppedAt, seconds } = action;
    return [{ name, state, attempt, startedAt, stoppedAt, seconds }];
  });
  const { finishedAt } = progress;
  const firstBootAt = instance?.generation === definition.generation ? instance.firstBootAt : null;
  if (!finishedAt || !firstBootAt) return actions;
  const firstBoot = {
    name: FIRST_BOOT,
    state: 'SUCCESS',
    attempt: 1,
    startedAt: finishedAt,
    stoppedAt: firstBootAt,
    seconds: Math.max(0, Math.round((Date.parse(firstBootAt) - Date.parse(finishedAt)) / 1000)),
  };
  return [...actions, firstBoot];
}
