import type { KeyObject } from 'node:crypto';
import { sealRecord } from '../../protocol/check-record.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { SignedRecord } from '../../protocol/shipping-record.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { FloorTable } from '../floor/floor-table.ts';
import type { Host } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { Profile } from '../nodes/profile.ts';
import type { DocumentTable } from '../store/document-table.ts';
import { KEPT_LOGS, type LogTable } from '../store/log-table.ts';
import type { WorkflowTable } from '../workflow/workflow-table.ts';
import { logText, makeRecord, type NodeFile } from './make-record.ts';
import { decideShift, type ShiftFigures, type ShiftWindow } from './shift-figures.ts';

export interface RecordsOptions {
  hosts: HostTable;
  nodes: Nodes;
  profiles: DocumentTable<Profile>;
  rows: FloorTable;
  workflows: WorkflowTable;
  logs: LogTable;
  audit: AuditLog;
  /** The project id. */
  site: string;
  /** The site's signing keys, the newest first. */
  keys: () => readonly KeyObject[];
  now: () => Date;
}

/** A record with the log that its digest is of. */
export interface RecordWithLog {
  signed: SignedRecord;
  log: string;
}

const MOST_AUDIT_LINES = 10_000;

/** Shipping records: read from what the orchestrator has of a node, signed by the site. */
export class Records {
  readonly #options: RecordsOptions;

  constructor(options: RecordsOptions) {
    this.#options = options;
  }

  async of(node: string): Promise<RecordWithLog> {
    const { nodes, site, keys, now } = this.#options;
    const file = await this.#fileOf(await nodes.find(node));
    return { signed: sealRecord(makeRecord(file, site, now()), keys()), log: logText(file.lines) };
  }

  /** How the work went in this time. */
  async shift(window: ShiftWindow): Promise<ShiftFigures> {
    const { workflows, hosts } = this.#options;
    const installs = await workflows.installsSince(window.since);
    return decideShift(installs, await hosts.instancesSince(window.since), window);
  }

  async #fileOf(host: Host): Promise<NodeFile> {
    const { hosts, profiles, rows, workflows, logs, audit } = this.#options;
    const row = await rows.get(host.id);
    if (!row) throw new KindlingError('KND_NODE_UNKNOWN', `${host.name} was deleted just now`);
    const instance = await hosts.instance(host.id);
    return {
      host,
      row,
      instance,
      profile: instance && (await profiles.get(instance.profile)),
      inventory: (await hosts.inventory(host.id)) ?? (await hosts.claim(host.id)),
      workflow: await workflows.latestInstallOf(host.id),
      lines: await logs.tail(host.id, KEPT_LOGS.registered.lines),
      audit: await audit.list({ after: 0, limit: MOST_AUDIT_LINES, node: host.id }),
    };
  }
}
