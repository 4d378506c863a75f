import { render } from 'preact';
import { takeTokenFromAddress } from './api/session.ts';
import { App } from './app.tsx';
import { startClock } from './live/clock.ts';
import { startRouting } from './parts/route.ts';
import { startTheme } from './parts/theme.ts';
import { enter } from './shell/enter.ts';
import { startKeys } from './shell/keys.ts';

// 1 how it looks  2 which screen  3 what is drawn  4 who we are, and what the server says from then on
startTheme();
startClock();
takeTokenFromAddress();
startRouting();
startKeys();
const place = document.getElementById('app');
if (place) render(<App />, place);
void enter();
