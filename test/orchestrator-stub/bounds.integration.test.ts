import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KEPT_LOGS } from '../../orchestrator-stub/store/log-table.ts';
import { NODE, RunningStub } from './running-stub.ts';

const TEMPLATE = `version: "0.1"
name: one
global_timeout: 600
tasks: [{name: work, worker: "{{ .device_1 }}", actions: [{name: only, image: example.org/a/only:1, timeout: 60}]}]
`;

let running: RunningStub;
let now = Date.now();

beforeEach(async () => {
  running = await RunningStub.start({ now: () => new Date(now) });
});

afterEach(() => running[Symbol.asyncDispose]());

const machine = (index: number) => ({
  identity: {
    uuid: `6f8a3c1e-0d2b-4a77-9c55-${String(index).padStart(12, '0')}`,
    macs: [`52:54:00:00:00:${String(index).padStart(2, '0')}`],
    nodeId: `n${index}`,
    evidence: [],
  },
});
const discover = (index: number) =>
  running.api('POST', '/api/v1/discovery', { json: machine(index), token: null });
const names = async () =>
  (await running.api('GET', '/api/v1/nodes')).body.nodes
    .map(({ macs: [mac = ''] }: { macs: string[] }) => mac.slice(-2))
    .sort();
const site = (json: unknown) => running.api('PATCH', '/api/v1/site', { json });

describe('machines nobody registered', () => {
  test('push out the one that was silent longest beyond the limit; registered ones stay', async () => {
    await site({ maxUnknownMachines: 2 });
    await discover(1);
    now += 1000;
    await discover(2);
    now += 1000;
    await discover(1);
    now += 1000;
    expect(await discover(3)).toMatchObject({ status: 200 });
    expect(await names()).toEqual(['01', '03']);
    await running.api('POST', '/api/v1/nodes', { json: { mac: '52:54:00:00:00:01' } });
    now += 1000;
    await discover(4);
    now += 1000;
    await discover(5);
    expect(await names()).toEqual(['01', '04', '05']);
  });

  test('are refused with KND_NODE_LIMIT by a site that remembers none', async () => {
    await site({ maxUnknownMachines: 0 });
    expect(await discover(1)).toMatchObject({
      status: 429,
      body: { code: 'KND_NODE_LIMIT', retryable: true },
    });
  });

  test('that did not come back for a month give way to new ones', async () => {
    await site({ maxUnknownMachines: 2 });
    await discover(1);
    now += 20 * 24 * 3600 * 1000;
    await discover(2);
    now += 11 * 24 * 3600 * 1000;
    expect(await discover(3)).toMatchObject({ status: 200 });
    expect(await names()).toEqual(['02', '03']);
  });

  test('are let in by a site that lets in everyone, but not without end: beyond the limit they are not found', async () => {
    await site({ maxUnknownMachines: 1, acceptUnregistered: true });
    expect((await running.knock()).status?.code).toBe(0);
    const other = {
      uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c6',
      serialnum: 'OTHER1234',
      macId: '52:54:00:12:34:57',
    };
    expect((await running.knock(other)).status).toMatchObject({ code: 5, message: 'Device not found' });
    expect((await running.knock()).status?.code, 'who is in stays in').toBe(0);
    expect((await running.api('GET', '/api/v1/nodes')).body.nodes).toHaveLength(1);
  });
});

describe('what piles up', () => {
  test('the last twenty finished workflows of a node are kept, and the one that provisioned it', async () => {
    await running.api('PUT', '/api/v1/templates/one', { json: { text: TEMPLATE } });
    await running.api('PUT', '/api/v1/profiles/edge', {
      json: { imageUrl: 'http://10.0.2.2/x.raw.gz', imageSha256: 'a'.repeat(64), template: 'one' },
    });
    await running.api('POST', '/api/v1/nodes', {
      json: { uuid: NODE.uuid, autoOnboard: true, profile: 'edge', name: 'till' },
    });
    await running.knock();
    const provisioning = `workflow-${NODE.uuid}-g1`;
    await expect
      .poll(async () => (await running.api('GET', `/api/v1/workflows/${provisioning}`)).status)
      .toBe(200);
    const finish = (id: string) => running.api('POST', `/api/v1/workflows/${id}/cancel`);
    await finish(provisioning);
    const ids: string[] = [];
    for (let index = 0; index < 23; index += 1) {
      const { body } = await running.api('POST', '/api/v1/workflows', {
        json: { node: 'till', template: 'one' },
      });
      ids.push(body.id);
      await finish(body.id);
    }
    const kept = (await running.api('GET', '/api/v1/workflows?node=till')).body.workflows;
    expect(kept.map(({ id }: { id: string }) => id)).toEqual([provisioning, ...ids.slice(-20)]);
    expect((await running.api('GET', `/api/v1/workflows/${ids[0]}`)).body.code).toBe('KND_WORKFLOW_UNKNOWN');
    await running.restart();
    expect((await running.api('GET', '/api/v1/workflows?node=till')).body.workflows).toHaveLength(21);
  });

  test('the newest log lines are kept, fewer of a machine nobody registered', async () => {
    const { nodeId } = (await discover(1)).body;
    const send = (from: number, count: number) =>
      running.api('POST', '/v1/logs', {
        token: null,
        headers: { 'content-type': 'application/json' },
        json: {
          resourceLogs: [
            {
              resource: {
                attributes: [
                  { key: 'kindling.node', value: { stringValue: nodeId } },
                  { key: 'kindling.stream', value: { stringValue: 's' } },
                ],
              },
              scopeLogs: [
                {
                  logRecords: Array.from({ length: count }, (_, index) => ({
                    timeUnixNano: `${1_800_000_000_000 + from + index}000000`,
                    severityText: 'INFO',
                    body: { stringValue: `line ${from + index}` },
                    attributes: [{ key: 'kindling.sequence', value: { intValue: String(from + index) } }],
                  })),
                },
              ],
            },
          ],
        },
      });
    for (let from = 1; from < 5000; from += 500) expect((await send(from, 500)).status).toBe(200);
    const { lines } = (await running.api('GET', `/api/v1/nodes/${nodeId}/logs?limit=100000`)).body;
    expect(lines.length).toBeGreaterThanOrEqual(KEPT_LOGS.unregistered.lines);
    expect(lines.length).toBeLessThanOrEqual(KEPT_LOGS.unregistered.lines + 1000);
    expect(lines.at(-1).message).toBe('line 5000');
  });
});
