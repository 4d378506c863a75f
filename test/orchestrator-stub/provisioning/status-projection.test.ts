import { afterEach, beforeEach, expect, test } from 'vitest';
import { EventBus, type StubEvent } from '../../../orchestrator-stub/events/bus.ts';
import { HostTable } from '../../../orchestrator-stub/nodes/host-table.ts';
import { awaitsFirstBoot, createInstance, isInUse } from '../../../orchestrator-stub/nodes/instance.ts';
import { Nodes } from '../../../orchestrator-stub/nodes/nodes.ts';
import { type Profile, ProfileSchema } from '../../../orchestrator-stub/nodes/profile.ts';
import { StatusProjection } from '../../../orchestrator-stub/provisioning/status-projection.ts';
import { DocumentTable } from '../../../orchestrator-stub/store/document-table.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { defineWorkflow } from '../../../orchestrator-stub/workflow/definition.ts';
import { WorkflowTable } from '../../../orchestrator-stub/workflow/workflow-table.ts';
import { Workflows } from '../../../orchestrator-stub/workflow/workflows.ts';
import type { HostId } from '../../../protocol/ids.ts';
import { testSeal } from '../seal/test-seal.ts';
import { failingCommit } from '../store/failing-commit.ts';
import { TWO_ACTIONS } from '../workflow/two-actions.ts';

let store: SqliteStore;
let hosts: HostTable;
let profiles: DocumentTable<Profile>;
let workflows: Workflows;
let events: StubEvent[];
let hostId: HostId;
/** While true, no COMMIT succeeds. */
let isFailing: boolean;

beforeEach(async () => {
  isFailing = false;
  const onFailure = (thrown: unknown) => {
    throw thrown;
  };
  const now = () => new Date('2026-11-17T12:00:00Z');
  store = new SqliteStore(':memory:', { onDefect: onFailure });
  hosts = new HostTable(store, testSeal());
  const bus = new EventBus(store);
  events = [];
  bus.subscribe(({ event }) => events.push(event));
  const nodes = new Nodes({
    store,
    hosts,
    bus,
    projectId: 'p',
    isStrict: false,
    now,
    maxUnknown: () => 10,
  });
  workflows = await Workflows.open({
    store,
    table: new WorkflowTable(store, testSeal()),
    bus,
    now,
    timeoutGraceMs: 0,
    onFailure,
  });
  profiles = new DocumentTable<Profile>(store, 'profiles', testSeal());
  const projection = new StatusProjection({ store, hosts, nodes, profiles, now });
  workflows.subscribe((workflow) => projection.follow(workflow));
  workflows.subscribe(async () => {
    if (isFailing) await failingCommit(store);
  });
  const host = await nodes.register({ uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5' });
  hostId = host.id;
  await hosts.saveInstance(
    createInstance({
      id: 'inst-1',
      host,
      profile: 'p',
      keys: { firstBootKey: 'k', escrowKey: 'escrow', neighborsKey: 'neighbors' },
      now: now(),
    }),
  );
  await workflows.add(
    defineWorkflow({ id: 'w', hostId, generation: 1, template: TWO_ACTIONS, data: {}, now: now() }),
  );
  events.length = 0;
});

afterEach(async () => {
  workflows.stop();
  await store.close();
});

const line = async () => (await hosts.instance(hostId))?.provisioningStatus.text;
const start = async (index: number) =>
  workflows.report(await workflows.get('w'), { index, state: 'RUNNING', message: '' });
const succeed = async (index: number) =>
  workflows.report(await workflows.get('w'), { index, state: 'SUCCESS', message: '' });

test('a report whose COMMIT fails leaves everything as it was, and the same report again moves the line', async () => {
  await start(0);
  events.length = 0;
  isFailing = true;
  await expect(succeed(0)).rejects.toThrow(/FOREIGN KEY/);
  expect(await line()).toContain('1/2');
  expect((await workflows.get('w')).progress.actions[0]?.state).toBe('RUNNING');
  expect(workflows.activeOf('52:54:00:12:34:56')[0]?.progress.actions[0]?.state).toBe('RUNNING');
  expect(events).toEqual([]);

  isFailing = false;
  await succeed(0);
  expect(await line()).toContain('2/2');
  expect(events.map(({ type }) => type)).toEqual(['node', 'workflow']);
});

test('the end of a workflow whose COMMIT fails does not count, and counts when it is reported again', async () => {
  await start(0);
  await succeed(0);
  await start(1);
  isFailing = true;
  await expect(succeed(1)).rejects.toThrow(/FOREIGN KEY/);
  expect((await hosts.instance(hostId))?.currentState).toBe('UNSPECIFIED');
  expect(workflows.activeOf('52:54:00:12:34:56')).toHaveLength(1);

  isFailing = false;
  await succeed(1);
  expect((await hosts.instance(hostId))?.currentState).toBe('RUNNING');
  expect(workflows.activeOf('52:54:00:12:34:56')).toHaveLength(0);
});

test.each([
  { kind: 'an installed node', profile: {}, text: 'Rebooting', awaits: true },
  {
    kind: 'a node that is shipped first',
    profile: { after: 'poweroff' },
    text: 'Switched off',
    awaits: true,
  },
  { kind: 'a standalone node', profile: { standalone: true }, text: 'Provisioned', awaits: false },
  { kind: 'a node with an ISO', profile: { imageFormat: 'iso' }, text: 'Provisioned', awaits: false },
  {
    kind: 'a mutable standalone node as EMF marks it',
    profile: { osType: 'MUTABLE', metadata: { 'standalone-node': 'true' } },
    text: 'Provisioned',
    awaits: false,
  },
])(
  'when all is done, $kind is "$text", and its report is awaited: $awaits',
  async ({ profile, text, awaits }) => {
    const base = { name: 'p', imageUrl: 'https://images.test/os.raw.gz', osType: 'IMMUTABLE' };
    await profiles.save('p', ProfileSchema.parse({ ...base, ...profile }));
    for (const index of [0, 1]) {
      await start(index);
      await succeed(index);
    }
    expect((await hosts.byId(hostId))?.hostStatus.text).toBe(text);
    const instance = await hosts.instance(hostId);
    expect(instance && awaitsFirstBoot(instance)).toBe(awaits);
    // It needs no Micro-OS any more: when it asks the network first, it is sent to its disk.
    expect(isInUse(instance)).toBe(!awaits);
  },
);

test('a workflow that was canceled in a transaction that fails goes on', async () => {
  const canceled = () =>
    store.transaction(async () => {
      await workflows.cancelAllOf(hostId, 'a test');
      expect((await workflows.get('w')).progress.state).toBe('CANCELLED');
      await failingCommit(store);
    });
  await expect(canceled()).rejects.toThrow(/FOREIGN KEY/);
  expect((await workflows.get('w')).progress.state).toBe('PENDING');
  expect(events).toEqual([]);
  await start(0);
  expect(await line()).toContain('1/2');
});
