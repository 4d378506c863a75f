import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const CHROMIUM = '/usr/bin/chromium';

/** For what is waited for on a busy machine; the tests themselves have two minutes. */
const PATIENCE_MS = 40_000;

const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Debian's browser; a machine without it is told which package that is. */
export function launchBrowser(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) throw new Error('the tests of the console need the Debian package "chromium"');
  // Without /dev/shm of a useful size, and as root, which the integration tests are.
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A tab of its own. Whatever the page complains about, a refused inline style for example, fails the test that closes it. */
export async function openTab(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Page & AsyncDisposable> {
  const context = await browser.newContext({ viewport: DESK, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // The browser itself reports every call that is refused or not answered; some tests are about these.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  await page.goto(url);
  return Object.assign(page, {
    [Symbol.asyncDispose]: async () => {
      await context.close();
      expect(complaints).toEqual([]);
    },
  });
}

/** What axe-core has to say against the page as it is now. */
export async function violations(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the policy of the page does not bind.
  await page.evaluate(axe.source);
  const found: { id: string; nodes: { html: string }[] }[] = await page.evaluate(
    'axe.run().then(({ violations }) => violations)',
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`.slice(0, 500));
}
