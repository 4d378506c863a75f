import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Client } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FloorChange, FloorNode, FloorPage, FloorSummary } from '../../../protocol/floor.ts';
import { State, WorkflowService } from '../../../protocol/generated/tink-legacy_pb.js';
import { callUnary } from '../../../protocol/grpc-service.ts';
import { NODE, RunningStub } from '../running-stub.ts';
import { TWO_ACTIONS } from '../workflow/two-actions.ts';

let nowMs = 0;
let running: RunningStub;
let client: Client;

async function startSite(): Promise<void> {
  nowMs = Date.parse('2026-11-18T08:00:00.000Z');
  // Silence is what is looked at here: no action ends because its time is up.
  running = await RunningStub.start({ now: () => new Date(nowMs), timeoutGraceMs: 3_600_000 });
  client = running.client();
}

const endSite = () => running[Symbol.asyncDispose]();

const list = async (query = ''): Promise<FloorPage> =>
  (await running.api('GET', `/api/v1/nodes${query}`)).body;
const names = async (query: string) => (await list(query)).nodes.map(({ name }) => name);
const summary = async (): Promise<FloorSummary> => (await running.api('GET', '/api/v1/floor')).body;
const register = (json: object) => running.api('POST', '/api/v1/nodes', { json });
const report = (actionName: string, actionStatus: State, message = '') =>
  callUnary(client, WorkflowService.method.reportActionStatus, {
    workflowId: `workflow-${NODE.uuid}-g1`,
    taskName: 'work',
    actionName,
    actionStatus,
    message,
  });

/** A node that has come in and has a workflow of two actions. */
async function startNode(): Promise<void> {
  await running.api('PUT', '/api/v1/templates/two', { json: { text: TWO_ACTIONS.text } });
  await running.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://images.test/x.raw', imageFormat: 'raw', template: 'two' },
  });
  await register({
    uuid: NODE.uuid,
    serial: NODE.serialnum,
    name: 'till-1',
    autoOnboard: true,
    profile: 'edge',
  });
  const prepared = await watchFor((node) => typeof node?.workflowId === 'string');
  await running.knock();
  await prepared.row;
}

/** Watches until a row comes that fits. Whatever happens once this has returned is not missed. */
async function watchFor(fits: (node: FloorNode | null) => boolean): Promise<{ row: Promise<FloorChange> }> {
  const { stop, response } = await watch('?types=floor');
  const find = async () => {
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.toString();
      const changes = [...text.matchAll(/^data: (.*)\n\n/gm)].map(
        ([, data = '']) => JSON.parse(data) as FloorChange,
      );
      const found = changes.find(({ node }) => fits(node));
      if (found) return found;
    }
    throw new Error('the stream has ended');
  };
  return { row: find().finally(stop) };
}

async function watch(query: string, headers = {}): Promise<{ stop: () => void; response: IncomingMessage }> {
  const request = get(`${running.stub.urls.http}/api/v1/events${query}`, { headers });
  request.on('error', () => {}); // it is ended by who watches
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { stop: () => request.destroy(), response };
}

describe('the list', () => {
  beforeAll(async () => {
    await startSite();
    for (const [index, site] of ['berlin', 'berlin', 'ulm'].entries()) {
      nowMs += 1000;
      await register({
        name: `till-${index}`,
        serial: `4F7K2Q-00${index}`,
        mac: `52:54:00:00:00:0${index}`,
        site,
        metadata: { place: `sw2/${14 - index}` },
      });
    }
    await running.api('POST', '/api/v1/discovery', {
      json: { identity: { macs: ['52:54:00:aa:bb:cc'], serial: 'STRANGE_1', nodeId: 'x' } },
    });
  });

  afterAll(endSite);

  test.each([
    ['', ['till-0', 'till-1', 'till-2', expect.stringMatching(/^host-/)]],
    ['?sort=-name', [...['till-2', 'till-1', 'till-0'], expect.stringMatching(/^host-/)]],
    ['?sort=place', ['till-2', 'till-1', 'till-0', expect.stringMatching(/^host-/)]],
    ['?site=ulm', ['till-2']],
    ['?group=waiting&limit=1', ['till-0']],
    ['?status=registered,failed', ['till-0', 'till-1', 'till-2']],
    ['?group=strangers,done', [expect.stringMatching(/^host-/)]],
    ['?profile=edge', []],
    ['?q=2Q-001', ['till-1']],
    ['?q=52-54-00-00-00-02', ['till-2']],
    ['?q=525400000001', ['till-1']],
    ['?q=sw2/14', ['till-0']],
    ['?q=berlin+till-1', ['till-1']],
    ['?q=%25', []],
    ['?q=_', [expect.stringMatching(/^host-/)]],
    ['?q=%5C', []],
    ["?q=';--", []],
  ])('GET /api/v1/nodes%s', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test.each(['floor', '-floor', 'name', '-since', 'heard', '-place', 'created'])(
    'page by page nothing is missed and nothing comes twice: %s',
    async (sort) => {
      const whole = await names(`?sort=${sort}`);
      const paged: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: FloorPage = await list(`?sort=${sort}&limit=1${cursor ? `&cursor=${cursor}` : ''}`);
        expect(page.total).toBe(4);
        paged.push(...page.nodes.map(({ name }) => name));
        cursor = page.cursor;
      }
      expect(paged).toEqual(whole);
    },
  );

  test.each([
    '?status=nope',
    '?group=',
    '?limit=0',
    '?limit=1001',
    '?limit=x',
    '?sort=id%3BDROP',
    '?cursor=x',
    '?cursor=WzEsMl0',
    '?color=red',
    '?q=',
    `?q=${'x'.repeat(201)}`,
  ])('what cannot be meant is refused: %s', async (query) => {
    expect(await running.api('GET', `/api/v1/nodes${query}`)).toMatchObject({
      status: 400,
      body: { code: 'KND_API_INVALID' },
    });
  });

  test('the rows are made anew with the next start', async () => {
    await running.restart({}, async () => {
      nowMs += 1000;
    });
    expect(await names('?group=waiting')).toEqual(['till-0', 'till-1', 'till-2']);
  });

  test('a node that is deleted is gone from list and counts', async () => {
    expect((await summary()).counts).toEqual({
      'needs-hand': 0,
      running: 0,
      waiting: 3,
      done: 0,
      strangers: 1,
    });
    await running.api('DELETE', '/api/v1/nodes/till-1');
    expect(await names('?group=waiting')).toEqual(['till-0', 'till-2']);
    expect(await summary()).toMatchObject({ counts: { waiting: 2 }, sites: ['berlin', 'ulm'] });
  });
});

describe('a node at work', () => {
  beforeEach(startSite);
  afterEach(endSite);

  test('its row goes from stage to stage, and the times of its stages are kept', async () => {
    await startNode();
    nowMs += 1000;
    await report('stream-os-image', State.RUNNING);
    nowMs += 39_000;
    const message = 'writing the image 61 % · 21 s left · rawRate 412000000';
    await report('stream-os-image', State.RUNNING, message);
    expect((await list('?group=running')).nodes).toMatchObject([
      { name: 'till-1', stage: 'stream-os-image', percent: 61, bytesPerSecond: 412_000_000, secondsLeft: 21 },
    ]);
    nowMs += 1000;
    await report('stream-os-image', State.SUCCESS);
    await report('reboot', State.RUNNING);
    nowMs += 2000;
    await report('reboot', State.SUCCESS);
    expect((await list()).nodes).toMatchObject([{ status: 'first-boot', stage: 'first-boot' }]);
    expect((await summary()).stageTimes).toEqual([
      { profile: 'edge', stage: 'stream-os-image', medianSeconds: 40, p95Seconds: 40, runs: 1 },
      { profile: 'edge', stage: 'reboot', medianSeconds: 2, p95Seconds: 2, runs: 1 },
    ]);
  });

  test('a pulled plug is said within minutes, once the clock says so, and forgotten with the next word', async () => {
    await startNode();
    await report('stream-os-image', State.RUNNING);
    nowMs += 10_000;
    await report('stream-os-image', State.RUNNING, 'writing the image 10 %');
    nowMs += 119_000;
    expect((await summary()).counts).toMatchObject({ running: 1, 'needs-hand': 0 });
    const silent = await watchFor((node) => node?.status === 'silent');
    nowMs += 1000;
    expect(await silent.row).toMatchObject({
      was: 'running',
      node: { reason: { message: expect.stringMatching(/no word since .*T08:00:10/) } },
    });
    expect((await summary()).counts).toMatchObject({ running: 0, 'needs-hand': 1 });
    await report('stream-os-image', State.RUNNING, 'writing the image 11 %');
    expect((await list()).nodes).toMatchObject([{ status: 'provisioning', percent: 11, reason: null }]);
  });

  test('a failure is in the row with code and next step', async () => {
    await startNode();
    await report('stream-os-image', State.RUNNING);
    await report('stream-os-image', State.FAILED, 'KND_DISK_AMBIGUOUS: two disks fit; next: Choose one.');
    expect(await list('?status=failed')).toMatchObject({
      total: 1,
      nodes: [
        {
          group: 'needs-hand',
          stage: 'stream-os-image',
          reason: { code: 'KND_DISK_AMBIGUOUS', message: 'two disks fit', next: 'Choose one.' },
        },
      ],
    });
  });
});

describe('events of the floor', () => {
  beforeAll(startSite);
  afterAll(endSite);

  test('have the whole row, and who has none of them asks for them', async () => {
    const { eventId } = await summary();
    await register({ serial: 'EVENT1234', name: 'first' });
    const { stop, response } = await watch(`?after=${eventId}`);
    const floor = await watch(`?types=floor&after=${eventId}`);
    await running.api('DELETE', '/api/v1/nodes/first');
    const [others, rows] = await Promise.all([
      readUntil(response, '"change":"deleted"'),
      readUntil(floor.response, '"node":null'),
    ]);
    stop();
    floor.stop();
    expect(others).not.toContain('event: floor');
    expect([...rows.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))).toMatchObject([
      { type: 'floor', was: null, node: { name: 'first', group: 'waiting' } },
      { type: 'floor', was: 'waiting', node: null },
    ]);
  });

  test('who was away for too long is told so', async () => {
    const { stop, response } = await watch('?types=floor', { 'last-event-id': '12' });
    expect(await readUntil(response, '\n\n\n')).toContain('event: missed');
    stop();
  });

  test('a kind that there is not is refused', async () => {
    expect((await running.api('GET', '/api/v1/events?types=floor,nope')).body).toMatchObject({
      code: 'KND_API_INVALID',
    });
  });
});

async function readUntil(response: IncomingMessage, end: string): Promise<string> {
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text.includes(end) || text.includes('missed')) break;
  }
  return text;
}
