import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { State } from '../../protocol/generated/tink-legacy_pb.js';
import { launchBrowser, openTab, PHONE, violations } from './browser.ts';
import { SeededFloor } from './seeded-floor.ts';

let browser: Browser;
let floor: SeededFloor;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  floor = await SeededFloor.start();
});
afterEach(() => floor[Symbol.asyncDispose]());

const failedRow = (page: Page) => page.getByRole('listitem').filter({ hasText: 'till-101' });

async function tokenOf(name: string, role: string): Promise<string> {
  await floor.running.api('PUT', `/api/v1/users/${name}`, { json: { role } });
  const { body } = await floor.running.api('POST', `/api/v1/users/${name}/tokens`, { json: {} });
  return body.token;
}

describe('what leaves with a machine', () => {
  it('is its record, signed, and a label with its code', async () => {
    await using page = await openTab(browser, floor.signedIn());
    await failedRow(page).getByRole('link').click();
    await page.getByRole('tab', { name: 'Record' }).click();
    await page.getByText('▲ Failed: ').waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the signed record' }).click();
    expect((await saving).suggestedFilename()).toMatch(/^host-[0-9a-f]{8}\.record\.json$/);
    await page.getByRole('button', { name: 'Label of till-101' }).click();
    const label = page.getByRole('dialog', { name: 'Label of till-101' });
    await label.getByRole('img', { name: /\/nodes\/host-[0-9a-f]{8}$/ }).waitFor();
    await label.getByText('NOT DONE').waitFor();
    expect(await violations(page)).toEqual([]);
    await label.getByRole('button', { name: 'Close' }).click();
  });

  it('is for people who may see who did what, and not for a viewer', async () => {
    await using page = await openTab(browser, floor.signedIn('/', await tokenOf('vera', 'viewer')));
    await failedRow(page).getByRole('link').click();
    await page.getByRole('tab', { name: 'History' }).waitFor();
    expect(await page.getByRole('tab', { name: 'Record' }).count()).toBe(0);
  });

  it('is counted: the shift', async () => {
    await using page = await openTab(browser, floor.signedIn());
    await page.getByRole('button', { name: 'Shift' }).click();
    const shift = page.getByRole('dialog', { name: 'This shift' });
    await shift.getByText('0 of 1 (0 %)').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});

describe('signing in', () => {
  it('asks for a token, says what is wrong with one, and takes a good one', async () => {
    await using page = await openTab(browser, floor.url);
    await page.getByLabel('Token').fill('nonsense');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Token').fill(floor.running.stub.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await failedRow(page).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
  });

  it('by a link leaves no token in the address', async () => {
    await using page = await openTab(browser, floor.signedIn());
    await failedRow(page).waitFor();
    expect(page.url()).toBe(`${floor.url}/`);
  });
});

describe('the floor', () => {
  it('says in one line how it is, and shows the reason with its way on in the row', async () => {
    await using page = await openTab(browser, floor.signedIn());
    const row = failedRow(page);
    await row.getByText('The image server answers 404').waitFor();
    await page.getByRole('button', { name: '0 of 2 done' }).waitFor();
    await page.getByRole('button', { name: '1 needs a hand' }).click();
    await row.getByText('KND_IMAGE_NOT_FOUND').click();
    await page
      .getByRole('dialog', { name: 'KND_IMAGE_NOT_FOUND' })
      .getByRole('button', { name: 'Close' })
      .click();
    await row.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('button', { name: '1 running' }).waitFor();
    await floor.report('stream-os-image', State.RUNNING, 'writing image 61 % · 21 s left');
    await page.getByRole('button', { name: '1 running' }).click();
    await failedRow(page).getByText('61 %').waitFor();
  });

  it('finds a machine by its label, and registers one that nobody knows', async () => {
    await using page = await openTab(browser, floor.signedIn());
    await failedRow(page).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('scan');
    await page.keyboard.type('77c0px\n');
    await page.locator('.row.found').filter({ hasText: 'till-102' }).waitFor();
    await page.keyboard.type('NEW-000042\n');
    await page.getByRole('button', { name: 'Register it' }).click();
    await page.locator('.row.found').filter({ hasText: '000042' }).waitFor();
  });

  it('is worked by keys alone', async () => {
    await using page = await openTab(browser, floor.signedIn());
    await failedRow(page).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.getByText('1 machine selected').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'till-101' }).waitFor();
    await page.keyboard.press('Alt+r');
    await page.getByText('Provisioning', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await failedRow(page).waitFor();
    await page.keyboard.press('Alt+t');
    await page.locator('.tile').first().waitFor();
  });

  it('says since when the server is away, and catches up', async () => {
    await using page = await openTab(browser, floor.signedIn());
    await failedRow(page).waitFor();
    await floor.running.restart({ auth: 'required' }, async () => {
      await page.getByText('The server has been away').waitFor();
    });
    await floor.register({ serial: 'LATE-000001', name: 'late-1' });
    await page.getByText('The server has been away').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: '2 waiting' }).click();
    await page.getByRole('listitem').filter({ hasText: 'late-1' }).waitFor();
  });

  it('offers a viewer nothing that the role may not do', async () => {
    await using page = await openTab(browser, floor.signedIn('/', await tokenOf('vera', 'viewer')));
    await failedRow(page).waitFor();
    await page.getByText('vera').waitFor();
    expect(await failedRow(page).getByRole('button', { name: 'Retry' }).count()).toBe(0);
  });

  it('tells the second of two people that the first was faster', async () => {
    await using anna = await openTab(browser, floor.signedIn());
    await using ben = await openTab(browser, floor.signedIn('/', await tokenOf('ben', 'technician')));
    await failedRow(anna).waitFor();
    await failedRow(ben).getByRole('button', { name: 'Retry' }).waitFor();
    // What Ben sees is a moment old: his page hears no more of the server than his own call.
    await ben.route('**/retry', async (call) => {
      await failedRow(anna).getByRole('button', { name: 'Retry' }).click();
      await anna.getByRole('button', { name: '1 running' }).waitFor();
      await call.continue();
    });
    await failedRow(ben).getByRole('button', { name: 'Retry' }).click();
    await ben.getByRole('alert').filter({ hasText: 'KND_WORKFLOW_STATE' }).waitFor();
  });
});

describe('text of strangers', () => {
  it('is shown as text, wherever it comes from', async () => {
    const evil = '<script>document.title="owned"</script><img src=x onerror=alert(1)>\u202eEVIL\u001b[31m';
    await floor.register({ serial: 'EVIL-00001', name: evil.slice(0, 120), metadata: { place: '<b>x</b>' } });
    const identity = {
      manufacturer: '<i>Evil</i>',
      product: '<img src=x onerror=alert(1)>',
      macs: ['52:54:00:00:00:99'],
      nodeId: '<i>n</i>',
    };
    const shown = await floor.running.api('POST', '/api/v1/discovery', { json: { identity }, token: null });
    expect(shown.status).toBe(200);
    await using page = await openTab(browser, floor.signedIn());
    await failedRow(page).waitFor();
    await page.getByRole('button', { name: '2 waiting' }).click();
    await page.getByText('<script>document.title').waitFor();
    await page.getByText('<b>x</b>').waitFor();
    await page.getByRole('button', { name: '1 stranger' }).waitFor();
    expect(await page.title()).toBe('Kindling');
    expect(await page.locator('main script, main img, main i').count()).toBe(0);
    expect(await page.locator('main').innerText()).not.toContain('\u202e');
  });
});

describe.each(['light', 'dark'] as const)('for everybody, %s', (colorScheme) => {
  it.each([
    ['on a desk', {}],
    ['on a phone', { viewport: PHONE, hasTouch: true }],
  ])('%s every screen is readable, and none is wider than the screen', async (_where, options) => {
    await using page = await openTab(browser, floor.signedIn(), { colorScheme, ...options });
    await failedRow(page).waitFor();
    const judge = async (screen: string) => {
      expect(await violations(page), screen).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), screen).toBe(true);
    };
    await judge('floor');
    await failedRow(page).getByRole('checkbox').check();
    await judge('selection');
    await failedRow(page).getByRole('link').click();
    await page.getByText('stream-os-image').first().waitFor();
    await judge('node: log');
    for (const tab of ['Hardware', 'Disks', 'History']) {
      await page.getByRole('tab', { name: tab }).click();
      await judge(`node: ${tab}`);
    }
    await page.getByRole('button', { name: 'Wipe and install…' }).click();
    await judge('question');
  });
});

it('an empty floor says how the first machine comes', async () => {
  await floor.running.api('DELETE', '/api/v1/nodes/till-101');
  await floor.running.api('DELETE', '/api/v1/nodes/till-102');
  await using page = await openTab(browser, floor.signedIn());
  await page.getByText('Done: A profile says what is installed').waitFor();
  await page.getByText('To do: The first machine').waitFor();
  expect(await violations(page)).toEqual([]);
});

it('the address of a node is its page, and says so when the node is gone', async () => {
  const { body } = await floor.running.api('GET', '/api/v1/nodes/till-102');
  await using page = await openTab(browser, floor.signedIn(`/nodes/${body.id}`));
  await page.getByRole('heading', { level: 1, name: 'till-102' }).waitFor();
  await floor.running.api('DELETE', '/api/v1/nodes/till-102');
  await page.getByRole('heading', { name: 'There is no machine' }).waitFor();
});
