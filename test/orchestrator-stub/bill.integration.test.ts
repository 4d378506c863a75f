import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { acceptParts, learnBill } from '../../cli/bom.ts';
import { NODE, RunningStub } from './running-stub.ts';
import { TWO_ACTIONS } from './workflow/two-actions.ts';

const GIB = 1024 ** 3;

let site: RunningStub;
let printed: string[];

beforeEach(async () => {
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  site = await RunningStub.start();
  await site.api('PUT', '/api/v1/templates/two', { json: { text: TWO_ACTIONS.text } });
  await putProfile({ memoryBytes: 8 * GIB });
  await site.api('POST', '/api/v1/nodes', {
    json: { uuid: NODE.uuid, serial: NODE.serialnum, name: 'till-1', autoOnboard: true, profile: 'edge' },
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await site[Symbol.asyncDispose]();
});

const putProfile = (bill: object | null) =>
  site.api('PUT', '/api/v1/profiles/edge', {
    json: { imageUrl: 'http://images.test/x.raw', imageFormat: 'raw', template: 'two', bill },
  });
const connection = () => ({ server: site.stub.urls.http, state: '/nonexistent', output: 'table' as const });
/** The server does it in the background. */
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 20_000 });
const row = async () => (await site.api('GET', '/api/v1/nodes?q=till-1')).body.nodes[0];

/** The machine starts with this memory and knocks. */
async function start(memoryGib: number): Promise<void> {
  const identity = { uuid: NODE.uuid, serial: NODE.serialnum, macs: [NODE.macId], nodeId: 'x' };
  const json = { identity, memory: { totalBytes: memoryGib * GIB } };
  await site.api('POST', '/api/v1/discovery', { json, token: null });
  await site.knock({ hostIp: '127.0.0.1' });
}

test('a machine that differs gets no workflow and says what differs; accepted, it goes on', async () => {
  await start(4);
  await eventually(async () =>
    expect(await row()).toMatchObject({
      group: 'needs-hand',
      status: 'failed',
      workflowId: null,
      reason: {
        code: 'KND_BILL_DIFFERS',
        message: 'till-1 is not what was ordered: memory is 4 GiB, ordered is 8 GiB',
        next: expect.stringContaining('kindling bom accept till-1') as unknown as string,
      },
    }),
  );
  expect((await site.api('GET', '/api/v1/workflows')).body.workflows).toEqual([]);

  await acceptParts('till-1', connection());
  expect(printed).toEqual(['till-1 is taken as it is: memory is 4 GiB, ordered is 8 GiB']);
  await eventually(async () => expect(await row()).toMatchObject({ group: 'running', reason: null }));
  const { lines } = (await site.api('GET', '/api/v1/audit?action=acceptParts')).body;
  expect(lines).toMatchObject([
    { nodeName: 'till-1', result: 'done', after: { acceptedParts: 'memory is 4 GiB, ordered is 8 GiB' } },
  ]);
});

test('a machine as it was ordered is not asked about, and there is nothing to accept', async () => {
  await start(8);
  await eventually(async () => expect(await row()).toMatchObject({ group: 'running' }));
  await expect(acceptParts('till-1', connection())).rejects.toMatchObject({ code: 'KND_NODE_STATE' });
});

test('a corrected bill lets the machine go on by itself', async () => {
  await start(4);
  await eventually(async () => expect(await row()).toMatchObject({ status: 'failed' }));
  await learnBill('till-1', { ...connection(), profile: 'edge' });
  expect(printed.join('\n')).toContain(`memoryBytes: ${4 * GIB}`);
  await eventually(async () => expect(await row()).toMatchObject({ group: 'running', reason: null }));
});
