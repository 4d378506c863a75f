import type { WorkflowDefinition, WorkflowProgress } from '../workflow/workflow.ts';
import type { Database } from './database.ts';

export interface StoredWorkflow {
  definition: WorkflowDefinition;
  progress: WorkflowProgress;
}

interface Row {
  definition: string;
  progress: string;
}

/** Workflows. The definition (which may carry files) is written once, the small progress with every report. */
export class WorkflowTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list(): StoredWorkflow[] {
    return this.#read('SELECT definition, progress FROM workflows ORDER BY rowid');
  }

  byId(id: string): StoredWorkflow | undefined {
    return this.#read('SELECT definition, progress FROM workflows WHERE id = ?', id)[0];
  }

  insert({ definition, progress }: StoredWorkflow): void {
    this.#database.run(
      'INSERT INTO workflows (id, host_id, definition, progress) VALUES (?, ?, ?, ?)',
      definition.id,
      definition.hostId,
      JSON.stringify(definition),
      JSON.stringify(progress),
    );
  }

  saveProgress(id: string, progress: WorkflowProgress): void {
    this.#database.run('UPDATE workflows SET progress = ? WHERE id = ?', JSON.stringify(progress), id);
  }

  /** The newest workflow of a host. */
  latestOf(hostId: string): StoredWorkflow | undefined {
    return this.#read(
      'SELECT definition, progress FROM workflows WHERE host_id = ? ORDER BY rowid DESC LIMIT 1',
      hostId,
    )[0];
  }

  #read(sql: string, ...values: string[]): StoredWorkflow[] {
    return this.#database.all<Row>(sql, ...values).map((row) => ({
      definition: JSON.parse(row.definition) as WorkflowDefinition,
      progress: JSON.parse(row.progress) as WorkflowProgress,
    }));
  }
}
