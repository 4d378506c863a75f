import { computed, signal } from '@preact/signals';

/** Who the server says that we are. */
export interface Me {
  name: string;
  role: string;
  rights: string[];
}

export type Session =
  | { kind: 'unknown' }
  | { kind: 'signed-out'; why: string }
  | { kind: 'signed-in'; me: Me };

const KEY = 'kindling-token';

export const session = signal<Session>({ kind: 'unknown' });

/** The token, kept for this tab only: another tab, or this one after it was closed, asks again. */
export function currentToken(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token.trim());
}

export function signOut(why = ''): void {
  sessionStorage.removeItem(KEY);
  session.value = { kind: 'signed-out', why };
}

/** Takes the token out of an address like /#token=…, so that it is neither bookmarked nor shown any longer than needed. */
export function takeTokenFromAddress(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return;
  keepToken(token);
  history.replaceState(history.state, '', location.pathname + location.search);
}

/** What the server lets us do. What is not among them is not offered. */
export const rights = computed<readonly string[]>(() =>
  session.value.kind === 'signed-in' ? session.value.me.rights : [],
);

export function may(right: string): boolean {
  return rights.value.includes(right);
}
