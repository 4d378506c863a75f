import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Instance } from '../../../orchestrator-stub/nodes/instance.ts';
import { openInstance } from '../../../orchestrator-stub/nodes/instance-keys.ts';
import { KeyFile } from '../../../orchestrator-stub/seal/key-file.ts';
import { parseSealingKeys, Seal } from '../../../orchestrator-stub/seal/seal.ts';
import { openDefinition } from '../../../orchestrator-stub/workflow/sealed-definition.ts';
import type { WorkflowDefinition } from '../../../orchestrator-stub/workflow/workflow.ts';

/** A seal whose key every process of a test knows. */
export function testSeal(): Seal {
  return new Seal(parseSealingKeys('5e'.repeat(32), 'of the tests'));
}

/** That of the orchestrator of a state folder. */
export function sealOf(stateFolder: string): Seal {
  return new Seal(new KeyFile({ stateFolder, environment: {} }).read());
}

/** What the orchestrator of a state folder keeps of its workflows, secrets included, the oldest first. */
export function storedDefinitions(stateFolder: string): WorkflowDefinition[] {
  using database = new DatabaseSync(join(stateFolder, 'kindling.sqlite'), { readOnly: true });
  const rows = database.prepare('SELECT definition FROM workflows ORDER BY rowid').all();
  return rows.map((row) => openDefinition(String(row['definition']), sealOf(stateFolder)));
}

/** An instance of a state folder with its keys: that of a host, or the first. */
export function storedInstance(stateFolder: string, hostId?: string): Instance | undefined {
  using database = new DatabaseSync(join(stateFolder, 'kindling.sqlite'), { readOnly: true });
  const rows = database.prepare('SELECT host_id, document FROM instances').all();
  const row = rows.find((each) => hostId === undefined || each['host_id'] === hostId);
  return row && openInstance(String(row['document']), sealOf(stateFolder));
}
