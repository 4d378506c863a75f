import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, openTab, PHONE, violations } from './browser.ts';
import { SeededFloor } from './seeded-floor.ts';

const BAD_ROWS = 24;
const GOOD_ROWS = 3;
const BAD_LIST = join(import.meta.dirname, 'bad-machines.csv');

let browser: Browser;
let floor: SeededFloor;
beforeAll(async () => {
  [browser, floor] = await Promise.all([launchBrowser(), SeededFloor.start()]);
});
afterAll(async () => {
  await browser.close();
  await floor[Symbol.asyncDispose]();
});
/** The two machines of the floor stay; what a test has imported goes. */
afterEach(async () => {
  const { nodes } = (await floor.running.api('GET', '/api/v1/nodes?limit=1000')).body;
  for (const { id, name } of nodes) {
    if (!/^till-10[12]$/.test(name)) await floor.running.api('DELETE', `/api/v1/nodes/${id}`);
  }
});

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

async function drop(page: Page, text: string, name = 'tills.csv'): Promise<void> {
  const file = `new File([${JSON.stringify(text)}], ${JSON.stringify(name)}, { type: 'text/csv' })`;
  const transfer = await page.evaluateHandle(
    `(() => { const data = new DataTransfer(); data.items.add(${file}); return data; })()`,
  );
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: transfer });
}

const list = (count: number) =>
  `Serial,Name\n${Array.from({ length: count }, (_, index) => `LIST-${1000 + index},line-${index}`).join('\n')}\n`;

describe('the import screen', () => {
  it('shows what is wrong in the cell where it is, before anything changes', async () => {
    await using page = await openTab(browser, floor.signedIn('/import'));
    await page.getByLabel('Choose a file').setInputFiles(BAD_LIST);
    await page.getByRole('heading', { level: 1, name: 'bad-machines.csv' }).waitFor();
    await page.getByRole('button', { name: `${BAD_ROWS} bad` }).waitFor();
    const bad = page.locator('tr.bad');
    expect(await bad.count()).toBe(BAD_ROWS);
    // Every one says why: in its cell, or for the row as a whole.
    expect(await page.locator('tr.bad:not(:has(.fault))').count()).toBe(0);
    expect(await page.locator('.bad-cell').count()).toBe(BAD_ROWS - 2);
    await rowOf(page, 'other-size').getByText('profile edge has 0, not 80').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: '3 new' }).click();
    expect(await page.locator('tbody tr').count()).toBe(GOOD_ROWS);
    expect((await floor.running.api('GET', '/api/v1/nodes')).body.total).toBe(2);
  });

  it('gives bad rows back with their reasons, and imports the others', async () => {
    await using page = await openTab(browser, floor.signedIn('/import'));
    await page.getByLabel('Choose a file').setInputFiles(BAD_LIST);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: `Fix ${BAD_ROWS} rows first` }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('bad-machines.errors.csv');
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n');
    expect(lines).toHaveLength(1 + BAD_ROWS);
    expect(lines.find((line) => line.includes('unknown-profile'))).toMatch(
      /^BAD-0010,,nope,.*"OS Profile ""nope"" not found"$/,
    );
    await page.getByRole('button', { name: 'Import the other 3 rows' }).click();
    await page.getByText('Imported: 3 registered, 0 changed, 0 without a change, 24 left out.').waitFor();
  });

  it('takes a dropped file, names the fields that change, and undoes the import', async () => {
    await using page = await openTab(browser, floor.signedIn('/import'));
    await page.getByText('Drop a CSV file here').waitFor();
    await drop(page, 'Serial;Name;Site\nWAITS-77C0PX;till-102;berlin\nNEW-00001;line-1;berlin\n');
    await rowOf(page, 'till-102').getByText('site: none → berlin').waitFor();
    await page.getByRole('button', { name: 'Import 2 rows' }).click();
    await rowOf(page, 'line-1').getByText('Registered').waitFor();
    await rowOf(page, 'till-102').getByText('Changed').waitFor();
    await page.getByRole('button', { name: 'Undo this import' }).click();
    await page.getByText('Undone: everything is as it was').waitFor();
    expect((await floor.running.api('GET', '/api/v1/nodes/till-102')).body.site).toBeNull();
    await page.getByRole('link', { name: '← All lists' }).click();
    await page.getByRole('link', { name: 'tills.csv' }).first().waitFor();
  });

  it('is worked by keys alone', async () => {
    await using page = await openTab(browser, floor.signedIn('/import'));
    await page.getByLabel('Or paste the rows').focus();
    await page.keyboard.insertText('Serial,Name\nKEYS-00001,by-keys\n');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const button = page.getByRole('button', { name: 'Import 1 row' });
    await button.focus();
    await page.keyboard.press('Enter');
    await rowOf(page, 'by-keys').getByText('Registered').waitFor();
  });

  it('says what is wrong with a file that is no list', async () => {
    await using page = await openTab(browser, floor.signedIn('/import'));
    await page.getByText('Drop a CSV file here').waitFor();
    await drop(page, 'Serial,Color\nABC,red\n');
    await page.getByRole('alert').filter({ hasText: 'The header has unknown columns: Color' }).waitFor();
  });

  it('goes on when the server is restarted in the middle', async () => {
    await using page = await openTab(browser, floor.signedIn('/import'));
    await page.getByText('Drop a CSV file here').waitFor();
    await drop(page, list(300));
    await page.getByRole('button', { name: 'Import 300 rows' }).click();
    await floor.running.restart({ auth: 'required' }, async () => {
      await page.getByText('The server has been away').waitFor();
    });
    await page.getByText('Imported: 300 registered').waitFor();
  });

  it('shows text of strangers as text', async () => {
    await using page = await openTab(browser, floor.signedIn('/import'));
    await page.getByText('Drop a CSV file here').waitFor();
    const evil = '<script>document.title="owned"</script><img src=x onerror=alert(1)>\u202eEVIL';
    await drop(page, `Serial,Name\nEVIL-0001,"${evil.replaceAll('"', '""')}"\n`, '<b>evil</b>.csv');
    await page.getByRole('heading', { level: 1, name: '<b>evil</b>.csv' }).waitFor();
    await page.getByText('<script>document.title').first().waitFor();
    expect(await page.title()).toBe('Kindling');
    expect(await page.locator('main script, main img, main b').count()).toBe(0);
    expect(await page.locator('main').innerText()).not.toContain('\u202e');
  });

  it('is not offered to a viewer', async () => {
    await floor.running.api('PUT', '/api/v1/users/vera', { json: { role: 'viewer' } });
    const { token } = (await floor.running.api('POST', '/api/v1/users/vera/tokens', { json: {} })).body;
    await using page = await openTab(browser, floor.signedIn('/', token));
    await page.getByRole('link', { name: 'Floor' }).waitFor();
    expect(await page.getByRole('link', { name: 'Import' }).count()).toBe(0);
  });
});

it.each([
  ['on a desk, light', { colorScheme: 'light' }],
  ['on a phone, dark', { colorScheme: 'dark', viewport: PHONE, hasTouch: true }],
] as const)('%s it is readable, and no wider than the screen', async (_where, options) => {
  await using page = await openTab(browser, floor.signedIn('/import'), options);
  const judge = async (screen: string) => {
    expect(await violations(page), screen).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), screen).toBe(true);
  };
  await page.getByText('Drop a CSV file here').waitFor();
  await judge('drop zone');
  await page.getByLabel('Choose a file').setInputFiles(BAD_LIST);
  await page.getByRole('button', { name: `${BAD_ROWS} bad` }).waitFor();
  await judge('verdicts');
});
