import { placeOf, type Seal } from '../seal/seal.ts';
import type { WorkflowDefinition } from './workflow.ts';

/** A definition as the database has it: actions carry secrets in their environments. The rest stays readable for SQL. */
type StoredDefinition = Omit<WorkflowDefinition, 'actions'> & { sealedActions: string };

export function sealDefinition({ actions, ...rest }: WorkflowDefinition, seal: Seal): string {
  const sealedActions = seal.seal(JSON.stringify(actions), placeOf('workflows', rest.id));
  return JSON.stringify({ ...rest, sealedActions } satisfies StoredDefinition);
}

export function openDefinition(stored: string, seal: Seal): WorkflowDefinition {
  const { sealedActions, ...rest } = JSON.parse(stored) as StoredDefinition;
  const actions = seal.open(sealedActions, placeOf('workflows', rest.id));
  return { ...rest, actions: JSON.parse(actions) as WorkflowDefinition['actions'] };
}
