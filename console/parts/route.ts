import { signal } from '@preact/signals';

/** Screens that show all of a kind, by the first part of their address. */
const LISTS = ['import', 'profiles', 'templates', 'site', 'files', 'people', 'audit'] as const;
type ListScreen = (typeof LISTS)[number];

/** Which screen the address means. */
export type Route =
  | { screen: 'floor' }
  | { screen: 'node'; id: string }
  | { screen: ListScreen; id: string | undefined };

function routeOf(path: string): Route {
  const [first = '', second] = path.split('/').slice(1).map(decodePart);
  if (first === 'nodes' && second) return { screen: 'node', id: second };
  const screen = LISTS.find((each) => each === first);
  return screen ? { screen, id: second } : { screen: 'floor' };
}

const path = signal('/');
export const route = signal<Route>({ screen: 'floor' });

export function navigate(to: string): void {
  if (to !== path.peek()) history.pushState(null, '', to);
  show(to);
}

/** Links within the console change the screen; everything else is left to the browser. */
export function startRouting(): void {
  show(location.pathname);
  addEventListener('popstate', () => show(location.pathname));
  document.addEventListener('click', (event) => {
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const link = event.target instanceof Element ? event.target.closest('a[href^="/"]') : null;
    if (!isPlain || !link || link.hasAttribute('download') || link.hasAttribute('target')) return;
    event.preventDefault();
    navigate(link.getAttribute('href') ?? '/');
  });
}

function show(to: string): void {
  path.value = to;
  route.value = routeOf(to);
  scrollTo(0, 0);
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}
