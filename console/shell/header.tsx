import { type Session, session, signOut } from '../api/session.ts';
import { ScanBox } from '../floor/scan-box.tsx';
import { layout } from '../floor/view.ts';
import { nowMs } from '../live/clock.ts';
import { link } from '../live/floor-state.ts';
import { route } from '../parts/route.ts';
import { nextTheme, theme } from '../parts/theme.ts';
import { duration, exactTime } from '../words/time.ts';
import { isHelpOpen } from './keys.ts';
import { Navigation } from './navigation.tsx';

const THEME_WORDS = { auto: '◐ Auto', dark: '☾ Dark', light: '☀ Light' } as const;

/** On every screen: where one is, the scan box, and who one is. */
export function Header() {
  const { screen } = route.value;
  return (
    <header class="header">
      <a class="brand" href="/">
        <img src="/console/icon.svg" alt="" width="32" height="32" /> Kindling
      </a>
      <ScanBox />
      <div class="tools">
        {screen === 'floor' && (
          <button
            type="button"
            class="quiet for-desk"
            onClick={() => {
              layout.value = layout.peek() === 'rows' ? 'tiles' : 'rows';
            }}
          >
            {layout.value === 'rows' ? '▦ Tiles' : '☰ Rows'}
          </button>
        )}
        <button type="button" class="quiet for-desk" onClick={nextTheme}>
          {THEME_WORDS[theme.value]}
        </button>
        <button
          type="button"
          class="quiet for-desk"
          onClick={() => {
            isHelpOpen.value = true;
          }}
        >
          ? Keys
        </button>
        <Person session={session.value} />
      </div>
      <Navigation />
      <ServerAway />
    </header>
  );
}

function Person({ session: now }: { session: Session }) {
  if (now.kind !== 'signed-in') return null;
  return (
    <span class="person">
      <span>
        <strong>{now.me.name}</strong> <span class="role">{now.me.role}</span>
      </span>
      <button type="button" class="quiet" onClick={() => signOut()}>
        Sign out
      </button>
    </span>
  );
}

/** The page keeps what it had and says how old it is. */
function ServerAway() {
  const { value } = link;
  if (value.kind === 'refused') {
    return (
      <p class="away" role="alert">
        <strong>The server refuses to show its machines:</strong> {value.why}
      </p>
    );
  }
  if (value.kind !== 'away') return null;
  const seconds = (nowMs.value - value.sinceMs) / 1000;
  return (
    <p class="away" role="alert">
      <strong>The server has been away for {duration(seconds)}.</strong> What you see is from{' '}
      {exactTime(new Date(value.sinceMs).toISOString())}; the page catches up by itself.
    </p>
  );
}
