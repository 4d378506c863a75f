import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser, openTab, PHONE, violations } from './browser.ts';
import { SeededFloor } from './seeded-floor.ts';

let browser: Browser;
let floor: SeededFloor;
beforeAll(async () => {
  [browser, floor] = await Promise.all([launchBrowser(), SeededFloor.start()]);
});
afterAll(async () => {
  await browser.close();
  await floor[Symbol.asyncDispose]();
});

async function tokenOf(name: string, role: string): Promise<string> {
  await floor.running.api('PUT', `/api/v1/users/${name}`, { json: { role } });
  const { body } = await floor.running.api('POST', `/api/v1/users/${name}/tokens`, { json: {} });
  return body.token;
}

describe('profiles', () => {
  it('a form refuses at once what cannot work', async () => {
    await using page = await openTab(browser, floor.signedIn('/profiles'));
    await page.getByRole('button', { name: 'New profile' }).click();
    await page.getByLabel('Name').fill('edge');
    await page.getByText('There is a profile edge already.').waitFor();
    await page.getByLabel('Name').fill('shop');
    await page.getByLabel('Image', { exact: true }).fill(`${floor.url}/tink-stack/nothing.raw`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The image does not answer: the server answers 404.').waitFor();
    expect((await floor.running.api('GET', '/api/v1/profiles/shop')).status).toBe(404);
    await page.getByRole('button', { name: 'Save all the same' }).click();
    await page.getByRole('heading', { level: 1, name: 'shop' }).waitFor();
    await page.getByRole('button', { name: 'Delete this profile' }).click();
    await page.getByRole('heading', { level: 1, name: 'Profiles' }).waitFor();
    expect((await floor.running.api('GET', '/api/v1/profiles/shop')).status).toBe(404);
  });

  it('one that a machine has is not deleted', async () => {
    await using page = await openTab(browser, floor.signedIn('/profiles/edge'));
    await page.getByRole('button', { name: 'Delete this profile' }).click();
    await page.getByRole('alert').filter({ hasText: '1 node has the profile edge' }).waitFor();
  });

  it('are read by a technician, who is offered no change', async () => {
    await using page = await openTab(
      browser,
      floor.signedIn('/profiles', await tokenOf('tom', 'technician')),
    );
    await page.getByRole('link', { name: 'edge' }).click();
    await page.getByText('http://images.test/x.raw').waitFor();
    expect(await page.getByRole('button', { name: /Save|Delete/ }).count()).toBe(0);
  });
});

it('a template is checked before it is saved', async () => {
  await using page = await openTab(browser, floor.signedIn('/templates/two'));
  await page.getByRole('button', { name: 'Change the text' }).click();
  const text = page.getByLabel('Text, in YAML');
  const good = await text.inputValue();
  await text.fill('tasks: {{ .broken');
  await page.getByRole('button', { name: 'Check and save' }).click();
  await page.getByRole('alert').filter({ hasText: 'KND_TEMPLATE_INVALID' }).waitFor();
  await text.fill(`${good}\n# changed here`);
  await page.getByRole('button', { name: 'Check and save' }).click();
  await page.getByText('# changed here').waitFor();
});

it('an admin changes a setting of the site; others read it', async () => {
  await using page = await openTab(browser, floor.signedIn('/site'));
  await page.getByLabel('First boot minutes').fill('45');
  await page.getByRole('button', { name: 'Save 1 change' }).click();
  await page.getByRole('button', { name: 'Nothing to save' }).waitFor();
  expect((await floor.running.api('GET', '/api/v1/site')).body.firstBootMinutes).toBe(45);
  await using other = await openTab(browser, floor.signedIn('/site', await tokenOf('vera', 'viewer')));
  await other.getByLabel('First boot minutes').waitFor();
  expect(await other.getByLabel('First boot minutes').isDisabled()).toBe(true);
});

it('boot files and mirrored files are listed with their size', async () => {
  const folder = join(floor.running.folder, 'tink-stack', 'arm64');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'vmlinuz'), Buffer.alloc(12_345));
  await using page = await openTab(browser, floor.signedIn('/files'));
  await page.getByRole('row').filter({ hasText: 'arm64/vmlinuz' }).getByText('12 kB').waitFor();
  await page.getByText('No mirrored file yet.').waitFor();
});

it('the audit log is filtered and checked by an auditor', async () => {
  await using page = await openTab(browser, floor.signedIn('/audit', await tokenOf('ada', 'auditor')));
  await page.getByLabel('Action').fill('registerNode');
  // until the filter holds, several rows fit each text
  const rows = (hasText: string) => page.getByRole('row').filter({ hasText }).count();
  await expect.poll(() => rows('putTemplate'), { timeout: 30_000 }).toBe(0);
  await expect.poll(() => rows('till-102'), { timeout: 30_000 }).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Check every line' }).click();
  await page.getByText('as written.').waitFor();
  await page.getByRole('link', { name: 'People' }).click();
  await page.getByRole('row').filter({ hasText: 'ada' }).getByText('auditor').waitFor();
});

const PAGES = [
  '/profiles',
  '/profiles/edge',
  '/templates',
  '/templates/two',
  '/site',
  '/files',
  '/people',
  '/audit',
];

it.each([
  ['on a desk, light', { colorScheme: 'light' }],
  ['on a phone, dark', { colorScheme: 'dark', viewport: PHONE, hasTouch: true }],
] as const)('%s every page is readable, and none is wider than the screen', async (_where, options) => {
  await using page = await openTab(browser, floor.signedIn('/profiles'), options);
  for (const path of PAGES) {
    await page.goto(`${floor.url}${path}`);
    await page.locator('main table, main form, main .file, main h2').first().waitFor();
    expect(await violations(page), path).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), path).toBe(true);
  }
});
