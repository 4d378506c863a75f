import type { HostId } from '../../protocol/ids.ts';
import type { Database } from '../store/database.ts';
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
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list(): StoredWorkflow[] {
    return this.#read(`${SELECT} ORDER BY workflows.rowid`);
  }

  byId(id: string): StoredWorkflow | undefined {
    return this.#read(`${SELECT} WHERE workflows.id = ?`, id)[0];
  }

  insert({ definition, progress }: StoredWorkflow): void {
    this.#database.run(
      'INSERT INTO workflows (id, host_id, definition) VALUES (?, ?, ?)',
      definition.id,
      definition.hostId,
      JSON.stringify(definition),
    );
    this.saveProgress(definition.id, progress);
  }

  /** Only a retry that renders anew changes what a workflow consists of. */
  saveDefinition(definition: WorkflowDefinition): void {
    this.#database.run(
      'UPDATE workflows SET definition = ? WHERE id = ?',
      JSON.stringify(definition),
      definition.id,
    );
  }

  saveProgress(id: string, progress: WorkflowProgress): void {
    this.#database.run(
      'INSERT INTO workflow_progress (workflow_id, document) VALUES (?, ?) ON CONFLICT (workflow_id) DO UPDATE SET document = excluded.document',
      id,
      JSON.stringify(progress),
    );
  }

  /** The newest workflow of a host. */
  latestOf(hostId: HostId): StoredWorkflow | undefined {
    return this.#read(`${SELECT} WHERE host_id = ? ORDER BY workflows.rowid DESC LIMIT 1`, hostId)[0];
  }

  /**
   * Finished workflows of a host beyond the newest `kept`. The one that provisioned the newest generation stays for ever: while
   * it is there the generation is not written a second time.
   */
  dispensableOf(hostId: HostId, kept: number): string[] {
    return this.#database
      .all<{ id: string }>(
        `SELECT id FROM workflows JOIN workflow_progress ON workflow_id = id
         WHERE host_id = ?1 AND json_extract(document, '$.finishedAt') IS NOT NULL
         AND id IS NOT (SELECT id FROM workflows WHERE host_id = ?1 AND json_extract(definition, '$.generation') > 0
                        ORDER BY rowid DESC LIMIT 1)
         ORDER BY workflows.rowid DESC LIMIT -1 OFFSET ?2`,
        hostId,
        kept,
      )
      .map(({ id }) => id);
  }

  delete(id: string): void {
    this.#database.run('DELETE FROM workflows WHERE id = ?', id);
  }

  #read(sql: string, ...values: string[]): StoredWorkflow[] {
    return this.#database.all<Row>(sql, ...values).map((row) => ({
      definition: JSON.parse(row.definition) as WorkflowDefinition,
      progress: JSON.parse(row.progress) as WorkflowProgress,
    }));
  }
}
