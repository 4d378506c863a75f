import { afterEach, beforeEach, expect, test } from 'vitest';
import { EventBus } from '../../../orchestrator-stub/events/bus.ts';
import { AskingAgents } from '../../../orchestrator-stub/nodes/asking-agents.ts';
import { HostTable } from '../../../orchestrator-stub/nodes/host-table.ts';
import { Nodes } from '../../../orchestrator-stub/nodes/nodes.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { WorkerIndex } from '../../../orchestrator-stub/workflow/worker-index.ts';
import { toHostId } from '../../../protocol/ids.ts';
import { testSeal } from '../seal/test-seal.ts';

const MAC = '52:54:00:12:34:56';
const START = Date.parse('2026-11-18T12:00:00Z');
const rethrow = (thrown: unknown) => {
  throw thrown;
};

let seconds: number;
let store: SqliteStore;
let hosts: HostTable;
let nodes: Nodes;
let agents: AskingAgents;
const now = () => new Date(START + seconds * 1000);

beforeEach(() => {
  seconds = 0;
  store = new SqliteStore(':memory:', { onDefect: rethrow });
  hosts = new HostTable(store, testSeal());
  const bus = new EventBus(store);
  const maxUnknown = () => 2;
  nodes = new Nodes({ ...{ store, hosts, bus, projectId: 'p', isStrict: false, now }, maxUnknown });
  agents = new AskingAgents({
    ...{ store, hosts, nodes, projectId: 'p', now, maxUnknown },
    workers: new WorkerIndex(),
  });
});
afterEach(() => store.close());

const ask = (agentId: string) => agents.heard({ agentId, hostId: undefined }, '10.0.0.7');

test('a machine that nobody knows is listed once, as a stranger', async () => {
  await ask('52-54-00-12-34-56');
  seconds = 60;
  await ask(MAC);
  expect(await nodes.list()).toMatchObject([
    { mac: MAC, isRegistered: false, lastSeenAt: '2026-11-18T12:01:00.000Z' },
  ]);
});

test('a worker id that is no MAC address is one machine, too', async () => {
  await ask('lab-7');
  seconds = 60;
  await ask('lab-7');
  expect(await nodes.list()).toMatchObject([{ name: 'lab-7', mac: null }]);
});

test.each(["x'; DROP TABLE hosts; --", '../etc', 'a b', 'x'.repeat(64)])(
  '%s is no name of a machine',
  async (id) => {
    await ask(id);
    expect(await nodes.list()).toEqual([]);
  },
);

test('a registered node is seen, at most every 30 seconds', async () => {
  const { id } = await nodes.register({ mac: MAC });
  for (const [at, seen] of [
    [5, 5],
    [20, 5],
    [36, 36],
  ] as const) {
    seconds = at;
    await ask(MAC);
    expect((await hosts.byId(id))?.lastSeenAt).toBe(new Date(START + seen * 1000).toISOString());
  }
  expect(await nodes.list()).toHaveLength(1);
});

test('strangers have a limit, and a token without its node makes none', async () => {
  for (const name of ['a', 'b', 'c']) {
    seconds += 60;
    await ask(name);
  }
  expect((await nodes.list()).map(({ name }) => name).sort()).toEqual(['b', 'c']);
  await agents.heard({ agentId: 'd', hostId: toHostId('host-gone') }, '10.0.0.7');
  expect(await nodes.list()).toHaveLength(2);
});
