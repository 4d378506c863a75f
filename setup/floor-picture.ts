import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { KindlingError } from '../protocol/error.ts';
import { waitFor } from '../system/wait.ts';

const CHROMIUM = '/usr/bin/chromium';
const SCREEN = { width: 1440, height: 900 };
/** On a computer that is busy with everything else, too. */
const PATIENCE_MS = 30 * 60_000;

/** Waits until half of the machines are done and all that fail have failed, and takes a picture of the page. */
export async function takeFloorPicture(
  page: string,
  file: string,
  nodes: number,
  signal: AbortSignal,
): Promise<void> {
  if (!existsSync(CHROMIUM))
    throw new KindlingError('KND_USAGE', '--picture needs the Debian package "chromium"');
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    // a signal ends the whole demo in its order, the browser included
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  try {
    const context = await browser.newContext({
      viewport: SCREEN,
      ignoreHTTPSErrors: true,
      colorScheme: 'dark',
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const tab = await context.newPage();
    await tab.goto(page);
    await waitFor(async () => isHalfDone(await tab.locator('body').innerText(), nodes) || undefined, {
      name: `half of ${nodes} machines on the page`,
      timeoutMs: PATIENCE_MS,
      intervalMs: 500,
      signal,
    });
    await tab.screenshot({ path: file });
  } finally {
    await browser.close();
  }
}

/** As the page says it: "104 of 200 done ▲ 3 need a hand …". */
function isHalfDone(page: string, nodes: number): boolean {
  const [, done = 0] = /(\d+) of \d+ done/.exec(page) ?? [];
  return Number(done) >= nodes / 2 && page.includes('3 need a hand');
}
