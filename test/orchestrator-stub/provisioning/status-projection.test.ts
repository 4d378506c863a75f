import { afterEach, beforeEach, expect, test } from 'vitest';
import { EventBus, type StubEvent } from '../../../orchestrator-stub/events/bus.ts';
import { HostTable } from '../../../orchestrator-stub/nodes/host-table.ts';
import { createInstance } from '../../../orchestrator-stub/nodes/instance.ts';
import { Nodes } from '../../../orchestrator-stub/nodes/nodes.ts';
import { type Profile, ProfileSchema } from '../../../orchestrator-stub/nodes/profile.ts';
import { StatusProjection } from '../../../orchestrator-stub/provisioning/status-projection.ts';
import { Database } from '../../../orchestrator-stub/store/database.ts';
import { DocumentTable } from '../../../orchestrator-stub/store/document-table.ts';
import { defineWorkflow } from '../../../orchestrator-stub/workflow/definition.ts';
import { WorkflowTable } from '../../../orchestrator-stub/workflow/workflow-table.ts';
import { Workflows } from '../../../orchestrator-stub/workflow/workflows.ts';
import type { HostId } from '../../../protocol/ids.ts';
import { failingCommit } from '../store/failing-commit.ts';

const TEMPLATE = {
  name: 'two',
  text: `version: "0.1"
name: two
global_timeout: 600
tasks:
  - name: work
    worker: 52:54:00:12:34:56
    actions:
      - {name: stream-os-image, image: example.org/a/one:1, timeout: 60}
      - {name: reboot, image: example.org/a/two:1, timeout: 60}
`,
};

let database: Database;
let hosts: HostTable;
let profiles: DocumentTable<Profile>;
let workflows: Workflows;
let events: StubEvent[];
let hostId: HostId;
/** While true, no COMMIT succeeds. */
let isFailing: boolean;

beforeEach(() => {
  isFailing = false;
  const onFailure = (thrown: unknown) => {
    throw thrown;
  };
  const now = () => new Date('2026-11-17T12:00:00Z');
  database = new Database(':memory:', { onDefect: onFailure });
  hosts = new HostTable(database);
  const bus = new EventBus(database);
  events = [];
  bus.subscribe(({ event }) => events.push(event));
  const nodes = new Nodes({
    database,
    hosts,
    bus,
    projectId: 'p',
    isStrict: false,
    now,
    maxUnknown: () => 10,
  });
  workflows = new Workflows({
    database,
    table: new WorkflowTable(database),
    bus,
    now,
    timeoutGraceMs: 0,
    onFailure,
  });
  profiles = new DocumentTable<Profile>(database, 'profiles');
  const projection = new StatusProjection({ database, hosts, nodes, profiles, now });
  workflows.subscribe((workflow) => projection.follow(workflow));
  workflows.subscribe(() => {
    if (isFailing) failingCommit(database);
  });
  const host = nodes.register({ uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5' });
  hostId = host.id;
  hosts.saveInstance(
    createInstance({
      id: 'inst-1',
      host,
      profile: 'p',
      keys: { firstBootKey: 'k', escrowKey: 'escrow', neighborsKey: 'neighbors' },
      now: now(),
    }),
  );
  workflows.add(defineWorkflow({ id: 'w', hostId, generation: 1, template: TEMPLATE, data: {}, now: now() }));
  events.length = 0;
});

afterEach(() => {
  workflows.stop();
  database.close();
});

const line = () => hosts.instance(hostId)?.provisioningStatus.text;
const start = (index: number) => workflows.report('w', { index, state: 'RUNNING', message: '' });
const succeed = (index: number) => workflows.report('w', { index, state: 'SUCCESS', message: '' });

test('a report whose COMMIT fails leaves everything as it was, and the same report again moves the line', () => {
  start(0);
  events.length = 0;
  isFailing = true;
  expect(() => succeed(0)).toThrow(/FOREIGN KEY/);
  expect(line()).toContain('1/2');
  expect(workflows.get('w').progress.actions[0]?.state).toBe('RUNNING');
  expect(workflows.activeOf('52:54:00:12:34:56')[0]?.progress.actions[0]?.state).toBe('RUNNING');
  expect(events).toEqual([]);

  isFailing = false;
  succeed(0);
  expect(line()).toContain('2/2');
  expect(events.map(({ type }) => type)).toEqual(['node', 'workflow']);
});

test('the end of a workflow whose COMMIT fails does not count, and counts when it is reported again', () => {
  start(0);
  succeed(0);
  start(1);
  isFailing = true;
  expect(() => succeed(1)).toThrow(/FOREIGN KEY/);
  expect(hosts.instance(hostId)?.currentState).toBe('UNSPECIFIED');
  expect(workflows.activeOf('52:54:00:12:34:56')).toHaveLength(1);

  isFailing = false;
  succeed(1);
  expect(hosts.instance(hostId)?.currentState).toBe('RUNNING');
  expect(workflows.activeOf('52:54:00:12:34:56')).toHaveLength(0);
});

test.each([
  { kind: 'an installed node', metadata: {}, text: 'Rebooting' },
  {
    kind: 'a standalone node, which never reports,',
    metadata: { 'standalone-node': 'true' },
    text: 'Provisioned',
  },
])('when all is done, $kind is "$text"', ({ metadata, text }) => {
  const profile = { name: 'p', imageUrl: 'https://images.test/os.raw.gz', osType: 'IMMUTABLE', metadata };
  profiles.save('p', ProfileSchema.parse(profile));
  for (const index of [0, 1]) {
    start(index);
    succeed(index);
  }
  expect(hosts.byId(hostId)?.hostStatus.text).toBe(text);
});

test('a workflow that was canceled in a transaction that fails goes on', () => {
  const canceled = () =>
    database.transaction(() => {
      workflows.cancelAllOf(hostId, 'a test');
      expect(workflows.get('w').progress.state).toBe('CANCELLED');
      failingCommit(database);
    });
  expect(canceled).toThrow(/FOREIGN KEY/);
  expect(workflows.get('w').progress.state).toBe('PENDING');
  expect(events).toEqual([]);
  start(0);
  expect(line()).toContain('1/2');
});
