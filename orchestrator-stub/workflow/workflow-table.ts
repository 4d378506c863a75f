import type { HostId } from '../../protocol/ids.ts';
import type { Seal } from '../seal/seal.ts';
import type { Store } from '../store/store.ts';
import { openDefinition, sealDefinition } from './sealed-definition.ts';
import type { StoredWorkflow, WorkflowDefinition, WorkflowProgress } from './workflow.ts';

interface Row {
  definition: string;
  progress: string;
}

const SELECT =
  'SELECT definition, document AS progress FROM workflows JOIN workflow_progress ON workflow_id = workflows.id';

/**
 * Workflows. The definition, which may carry files, is written once; the small progress has a table of its own, because
 * SQLite rewrites a whole row with every change and progress changes with every report.
 */
export class WorkflowTable {
  readonly #store: Store;
  readonly #seal: Seal;

  constructor(store: Store, seal: Seal) {
    this.#seal = seal;
    this.#store = store;
  }

  async list(): Promise<StoredWorkflow[]> {
    return this.#read(`${SELECT} ORDER BY workflows.rowid`);
  }

  async byId(id: string): Promise<StoredWorkflow | undefined> {
    return (await this.#read(`${SELECT} WHERE workflows.id = ?`, id))[0];
  }

  async insert({ definition, progress }: StoredWorkflow): Promise<void> {
    await this.#store.run(
      'INSERT INTO workflows (id, host_id, definition) VALUES (?, ?, ?)',
      definition.id,
      definition.hostId,
      sealDefinition(definition, this.#seal),
    );
    await this.saveProgress(definition.id, progress);
  }

  /** Only a retry that renders anew changes what a workflow consists of. */
  async saveDefinition(definition: WorkflowDefinition): Promise<void> {
    await this.#store.run(
      'UPDATE workflows SET definition = ? WHERE id = ?',
      sealDefinition(definition, this.#seal),
      definition.id,
    );
  }

  /** A definition as it may leave the process: what it carries may be secret. */
  sealed(definition: WorkflowDefinition): string {
    return sealDefinition(definition, this.#seal);
  }

  opened(sealed: string): WorkflowDefinition {
    return openDefinition(sealed, this.#seal);
  }

  async saveProgress(id: string, progress: WorkflowProgress): Promise<void> {
    await this.#store.run(
      'INSERT INTO workflow_progress (workflow_id, document) VALUES (?, ?) ON CONFLICT (workflow_id) DO UPDATE SET document = excluded.document',
      id,
      JSON.stringify(progress),
    );
  }

  /** The newest workflow of a host. */
  async latestOf(hostId: HostId): Promise<StoredWorkflow | undefined> {
    return (await this.#read(`${SELECT} WHERE host_id = ? ORDER BY workflows.rowid DESC LIMIT 1`, hostId))[0];
  }

  /** The newest workflow of a host that installs a system; those that people started by hand and post-mortems do not. */
  async latestInstallOf(hostId: HostId): Promise<StoredWorkflow | undefined> {
    const sql = `${SELECT} WHERE host_id = ? AND CAST(json_extract(definition, '$.generation') AS INTEGER) > 0`;
    return (await this.#read(`${sql} ORDER BY workflows.rowid DESC LIMIT 1`, hostId))[0];
  }

  /** Workflows that install a system and whose newest word is from this time or later. */
  async installsSince(time: string): Promise<StoredWorkflow[]> {
    return this.#read(
      `${SELECT} WHERE coalesce(json_extract(document, '$.finishedAt'), json_extract(document, '$.startedAt')) >= ?
       AND CAST(json_extract(definition, '$.generation') AS INTEGER) > 0 ORDER BY workflows.rowid`,
      time,
    );
  }

  /**
   * Finished workflows of a host beyond the newest `kept`. The one that provisioned the newest generation stays for ever: while
   * it is there the generation is not written a second time.
   */
  async dispensableOf(hostId: HostId, kept: number): Promise<string[]> {
    const rows = await this.#store.all<{ id: string }>(
      `SELECT id FROM workflows JOIN workflow_progress ON workflow_id = id
         WHERE host_id = ?1 AND json_extract(document, '$.finishedAt') IS NOT NULL
         AND id IS DISTINCT FROM (SELECT id FROM workflows
                                  WHERE host_id = ?1 AND CAST(json_extract(definition, '$.generation') AS INTEGER) > 0
                                  ORDER BY rowid DESC LIMIT 1)
         ORDER BY workflows.rowid DESC`,
      hostId,
    );
    return rows.slice(kept).map(({ id }) => id);
  }

  async delete(id: string): Promise<void> {
    await this.#store.run('DELETE FROM workflows WHERE id = ?', id);
  }

  async #read(sql: string, ...values: string[]): Promise<StoredWorkflow[]> {
    const rows = await this.#store.all<Row>(sql, ...values);
    return rows.map((row) => ({
      definition: openDefinition(row.definition, this.#seal),
      progress: JSON.parse(row.progress) as WorkflowProgress,
    }));
  }
}
