import { may } from '../api/session.ts';
import { type Route, route } from '../parts/route.ts';

interface Page {
  screen: Route['screen'];
  address: string;
  label: string;
  /** Without it the page would have nothing to show. */
  right: string;
}

const PAGES: readonly Page[] = [
  { screen: 'floor', address: '/', label: 'Floor', right: 'nodes:read' },
  { screen: 'import', address: '/import', label: 'Import', right: 'imports:read' },
  { screen: 'profiles', address: '/profiles', label: 'Profiles', right: 'profiles:read' },
  { screen: 'templates', address: '/templates', label: 'Templates', right: 'profiles:read' },
  { screen: 'site', address: '/site', label: 'Site', right: 'site:read' },
  { screen: 'files', address: '/files', label: 'Files', right: 'site:read' },
  { screen: 'people', address: '/people', label: 'People', right: 'people:read' },
  { screen: 'audit', address: '/audit', label: 'Audit', right: 'audit:read' },
];

/** Every page that this person can use. */
export function Navigation() {
  const { screen } = route.value;
  return (
    <nav class="navigation" aria-label="Pages">
      <ul>
        {PAGES.filter(({ right }) => may(right)).map((page) => (
          <li key={page.screen}>
            <a href={page.address} aria-current={page.screen === screen ? 'page' : undefined}>
              {page.label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
