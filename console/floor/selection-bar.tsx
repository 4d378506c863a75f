import { nodeSignal } from '../live/floor-state.ts';
import { ACTIONS } from '../words/action-table.ts';
import { many } from '../words/amounts.ts';
import { begin } from './question.tsx';
import { actionsForMany, selected, selectOnly } from './selection.ts';

/** What can be done with the rows that are ticked. Each button says to how many of them it applies. */
export function SelectionBar() {
  if (selected.value.size === 0) return null;
  const nodes = [...selected.value].map((id) => nodeSignal(id)?.value).filter((node) => node !== undefined);
  return (
    <section class="selection" aria-label="What is selected">
      <strong>{many(nodes.length, 'machine')} selected</strong>
      {actionsForMany(nodes).map(({ action, nodes: fitting }) => (
        <button
          key={action}
          type="button"
          class={ACTIONS[action].isDestructive ? 'destructive' : 'primary'}
          onClick={() => begin(action, fitting)}
        >
          {ACTIONS[action].label}
          {fitting.length < nodes.length && ` (${fitting.length})`}
        </button>
      ))}
      <button type="button" onClick={() => selectOnly([])}>
        Clear
      </button>
    </section>
  );
}
