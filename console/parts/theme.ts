import { signal } from '@preact/signals';

/** What the person chose; `auto` follows the device. */
type Theme = 'auto' | 'light' | 'dark';

const KEY = 'kindling-theme';
const NEXT: Record<Theme, Theme> = { auto: 'dark', dark: 'light', light: 'auto' };

export const theme = signal<Theme>('auto');

export function startTheme(): void {
  const kept = localStorage.getItem(KEY);
  set(kept === 'light' || kept === 'dark' ? kept : 'auto');
}

export function nextTheme(): void {
  set(NEXT[theme.peek()]);
  localStorage.setItem(KEY, theme.peek());
}

function set(chosen: Theme): void {
  theme.value = chosen;
  document.documentElement.dataset['theme'] = chosen;
}
