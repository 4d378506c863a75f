import { effect } from '@preact/signals';
import { nodeSignal, order } from '../live/floor-state.ts';
import { fold } from './view.ts';

/** Moves the focus among what can be opened: rows and tiles. Above the first is the scan box. */
export function moveFocus(by: 1 | -1): void {
  const links = allLinks();
  const focused = document.activeElement;
  const now = focused instanceof HTMLElement ? links.indexOf(focused) : -1;
  const next = links[now + by];
  if (next) reveal(next);
  else if (by === -1) document.getElementById('scan')?.focus();
}

export function focusFirstRow(): void {
  const [first] = allLinks();
  if (first) reveal(first);
}

/** Brings a row to the eye and gives it the focus, as soon as it is there: its group may be folded, or its event on the way. */
export function focusRow(id: string): void {
  const stop = effect(() => {
    const here = Object.values(order.value).some((ids) => ids.includes(id));
    const node = nodeSignal(id)?.peek();
    if (!here || !node) return;
    fold(node.group, false);
    queueMicrotask(() => stop());
    requestAnimationFrame(() => {
      const link = document.querySelector<HTMLElement>(`#row-${CSS.escape(id)} .six`);
      if (!link) return;
      reveal(link);
      mark(link);
    });
  });
}

function allLinks(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('.row .six, .tile a')];
}

function reveal(link: HTMLElement): void {
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: 'center' });
}

/** The row that was scanned stands out until another one is. */
function mark(link: HTMLElement): void {
  for (const row of document.querySelectorAll('.row.found')) row.classList.remove('found');
  link.closest('.row')?.classList.add('found');
}
