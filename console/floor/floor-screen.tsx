import { useComputed } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { FloorGroup } from '../../protocol/floor.ts';
import { may } from '../api/session.ts';
import { counts, isLoaded, lastMove, nodeSignal, summary } from '../live/floor-state.ts';
import { GROUP_NAMES, Shape } from '../parts/shapes.tsx';
import { many } from '../words/amounts.ts';
import { nodeTitle } from '../words/node-words.ts';
import { floorSentence } from '../words/sentence.ts';
import { EmptyFloor } from './empty-floor.tsx';
import { Row } from './row.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { ShiftButton } from './shift.tsx';
import { Tile } from './tile.tsx';
import { fold, isFolded, layout, showGroup, shownGroup, shownGroups, typed, visibleIds } from './view.ts';

/** More rows at once than anybody reads; the rest is a tap away. */
const ROWS_AT_ONCE = 200;
/** Of what is done, the last few are enough at first. */
const DONE_AT_ONCE = 10;

/** The floor: how it is in one line, then every machine, those in trouble first. */
export function FloorScreen() {
  if (!isLoaded.value) return <p class="wait">Asking the server for its machines…</p>;
  return (
    <main class="floor">
      <h1 class="spoken">The floor</h1>
      <Sentence />
      {layout.value === 'tiles' ? (
        <Tiles />
      ) : (
        shownGroups.value.map((group) => <Group key={group} group={group} />)
      )}
      <NothingFits />
      <SelectionBar />
    </main>
  );
}

function Sentence() {
  const { value } = summary;
  const parts = floorSentence(counts.value, value?.secondsLeft ?? null);
  return (
    <div class="sentence">
      <p class="parts">
        {parts.map(({ group, text }) => (
          <button
            key={group}
            type="button"
            class={`part ${group}`}
            aria-pressed={shownGroup.value === group}
            onClick={() => showGroup(group)}
          >
            <Shape group={group} /> {text}
          </button>
        ))}
      </p>
      <p class="aside">
        {value && value.doneLastHour > 0 && (
          <span class="per-hour">{value.doneLastHour} done in the last hour</span>
        )}
        <LastMove />
        {may('records:read') && <ShiftButton />}
      </p>
    </div>
  );
}

/** A row that changes its group is elsewhere the next moment: one line says where it went. */
function LastMove() {
  const move = lastMove.value;
  return (
    <span class="last-move" role="status">
      {move && (
        <>
          <Shape group={move.node.group} /> {nodeTitle(move.node)}:{' '}
          {GROUP_NAMES[move.node.group].toLowerCase()}
        </>
      )}
    </span>
  );
}

function Group({ group }: { group: FloorGroup }) {
  const [isAll, setAll] = useState(false);
  const ids = visibleIds(group);
  const isClosed = useComputed(() => isFolded(group));
  if (ids.length === 0) return null;
  const atOnce = group === 'done' ? DONE_AT_ONCE : ROWS_AT_ONCE;
  const shown = isAll ? ids : ids.slice(0, atOnce);
  return (
    <section class={`group ${group}`} aria-labelledby={`group-${group}`}>
      <h2 id={`group-${group}`}>
        <button type="button" aria-expanded={!isClosed.value} onClick={() => fold(group, !isClosed.value)}>
          <Shape group={group} /> {GROUP_NAMES[group]} <span class="count">{ids.length}</span>
        </button>
      </h2>
      {!isClosed.value && (
        <ul class="rows">
          {shown.map((id) => {
            const node = nodeSignal(id);
            return node && <Row key={id} of={node} />;
          })}
        </ul>
      )}
      {!isClosed.value && shown.length < ids.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          Show {ids.length - shown.length} more
        </button>
      )}
    </section>
  );
}

/** What a screen on the wall shows in each of its bands: trouble on top, what is done small at the end. */
const BANDS: readonly { label: string; groups: readonly FloorGroup[]; isSmall: boolean }[] = [
  { label: 'Machines that need a hand', groups: ['needs-hand'], isSmall: false },
  { label: 'Machines on their way', groups: ['running', 'strangers', 'waiting'], isSmall: false },
  { label: 'Machines that are done', groups: ['done'], isSmall: true },
];

/** In a band by place, so that a tile hangs where its machine stands. */
function Tiles() {
  return BANDS.map(({ label, groups, isSmall }) => {
    const byPlace = groups
      .filter((group) => shownGroups.value.includes(group))
      .flatMap((group) => visibleIds(group))
      .map((id) => nodeSignal(id))
      .filter((node) => node !== undefined)
      .sort((a, b) => placeKey(a.peek()).localeCompare(placeKey(b.peek()), undefined, { numeric: true }));
    return (
      byPlace.length > 0 && (
        <ul key={label} class={isSmall ? 'tiles small' : 'tiles'} aria-label={label}>
          {byPlace.map((node) => (
            <Tile key={node.peek().id} of={node} isSmall={isSmall} />
          ))}
        </ul>
      )
    );
  });
}

function placeKey({ place, name }: { place: string | null; name: string }): string {
  return `${place ?? '\uffff'} ${name}`;
}

function NothingFits() {
  const isFitting = useComputed(() => shownGroups.value.some((group) => visibleIds(group).length > 0));
  if (isFitting.value) return null;
  const total = Object.values(counts.value).reduce((sum, count) => sum + count, 0);
  if (total === 0) return <EmptyFloor />;
  return (
    <p class="nothing">
      {typed.value === ''
        ? 'No machine is in this group now.'
        : `None of ${many(total, 'machine')} fits “${typed.value}”.`}
    </p>
  );
}
