import { signal } from '@preact/signals';
import type { FloorNode } from '../../protocol/floor.ts';
import { rights } from '../api/session.ts';
import { begin } from '../floor/question.tsx';
import { moveFocus } from '../floor/row-focus.ts';
import { toggle } from '../floor/selection.ts';
import { layout, SHOWN_ORDER, showGroup, typed } from '../floor/view.ts';
import { nodeSignal } from '../live/floor-state.ts';
import { navigate, route } from '../parts/route.ts';
import { type ActionName, possibleActions } from '../words/action-table.ts';

export const isHelpOpen = signal(false);

interface Key {
  /** As on a keyboard, for the page of help. */
  shown: string;
  does: string;
}

/** Letters belong to the scanner, so actions are Alt with a letter. */
export const KEYS: readonly Key[] = [
  { shown: 'any letter', does: 'Search, or scan a label; Enter goes to the machine' },
  { shown: '↓ ↑', does: 'Next or previous machine' },
  { shown: 'Enter', does: 'Open the machine' },
  { shown: 'Space', does: 'Select the machine' },
  { shown: 'Alt R', does: 'Retry' },
  { shown: 'Alt A', does: 'Approve its plan, let it in, or accept it' },
  { shown: 'Alt P', does: 'Choose its profile' },
  { shown: 'Alt W', does: 'Wipe and install' },
  { shown: 'Alt 1 … 5', does: 'Only: needs a hand, running, strangers, waiting, done' },
  { shown: 'Alt T', does: 'Tiles or rows' },
  { shown: 'Esc', does: 'Clear the search; from a machine back to the floor' },
  { shown: '?', does: 'This help' },
];

const ACTION_KEYS: Readonly<Record<string, readonly ActionName[]>> = {
  KeyR: ['retry', 'resume'],
  KeyA: ['approve', 'onboard', 'register'],
  KeyP: ['provision'],
  KeyW: ['reprovision'],
};

export function startKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || document.querySelector('dialog[open]')) return;
    if (handle(event)) event.preventDefault();
  });
}

/** True if the key was ours. */
function handle(event: KeyboardEvent): boolean {
  const scan = document.getElementById('scan');
  const isElsewhere =
    event.target instanceof Element &&
    event.target.closest('input, textarea, select') &&
    event.target !== scan;
  if (event.altKey) return handleAlt(event.code);
  if (isElsewhere && !isTick(event.target)) return false;
  switch (event.key) {
    case '?':
      if (typed.peek() !== '') return false;
      isHelpOpen.value = true;
      return true;
    case 'ArrowDown':
    case 'ArrowUp':
      if (event.target === scan || route.peek().screen !== 'floor') return false;
      moveFocus(event.key === 'ArrowDown' ? 1 : -1);
      return true;
    case 'Escape':
      return stepBack(scan);
    case ' ': {
      const node = focusedNode();
      if (!node || isTick(event.target)) return false;
      toggle(node.id);
      return true;
    }
    default:
      return false;
  }
}

function handleAlt(code: string): boolean {
  const digit = /^Digit([1-5])$/.exec(code)?.[1];
  if (digit !== undefined) {
    navigate('/');
    showGroup(SHOWN_ORDER[Number(digit) - 1]);
    return true;
  }
  if (code === 'KeyT') {
    layout.value = layout.peek() === 'rows' ? 'tiles' : 'rows';
    return true;
  }
  const node = focusedNode();
  const action =
    node && ACTION_KEYS[code]?.find((each) => possibleActions(node, rights.peek()).includes(each));
  if (!node || !action) return false;
  begin(action, [node]);
  return true;
}

function stepBack(scan: HTMLElement | null): boolean {
  if (typed.peek() !== '') typed.value = '';
  else if (route.peek().screen !== 'floor') navigate('/');
  else showGroup(undefined);
  scan?.focus();
  return true;
}

function focusedNode(): FloorNode | undefined {
  const now = route.peek();
  if (now.screen === 'node') return nodeSignal(now.id)?.peek();
  const row = document.activeElement?.closest('.row');
  return row ? nodeSignal(row.id.replace(/^row-/, ''))?.peek() : undefined;
}

function isTick(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type === 'checkbox';
}
