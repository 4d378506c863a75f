import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EventBus } from '../../../orchestrator-stub/events/bus.ts';
import { type GetActionCall, getAction } from '../../../orchestrator-stub/grpc/get-action.ts';
import { AskingAgents } from '../../../orchestrator-stub/nodes/asking-agents.ts';
import { HostTable } from '../../../orchestrator-stub/nodes/host-table.ts';
import { Nodes } from '../../../orchestrator-stub/nodes/nodes.ts';
import { newHost } from '../../../orchestrator-stub/nodes/registration.ts';
import { Enrollment } from '../../../orchestrator-stub/provisioning/enrollment.ts';
import { SiteSettingsSchema } from '../../../orchestrator-stub/settings/site-settings.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { defineWorkflow } from '../../../orchestrator-stub/workflow/definition.ts';
import { WorkflowTable } from '../../../orchestrator-stub/workflow/workflow-table.ts';
import { Workflows } from '../../../orchestrator-stub/workflow/workflows.ts';
import { AgentAttributesSchema } from '../../../protocol/generated/tink-current_pb.js';
import { toHostId } from '../../../protocol/ids.ts';
import { testSeal } from '../seal/test-seal.ts';

const WORKER = '52:54:00:12:34:56';
const TEMPLATE = {
  name: 'one',
  text: `version: "0.1"
name: one
global_timeout: 600
tasks:
  - name: work
    worker: ${WORKER}
    actions:
      - {name: one, image: example.org/a/one:1, timeout: 60}
`,
};
const hostId = toHostId('host-1');
const now = () => new Date('2026-11-18T12:00:00Z');
const rethrow = (thrown: unknown) => {
  throw thrown;
};

let store: SqliteStore;
let workflows: Workflows;
let enrollment: Enrollment;
let askingAgents: AskingAgents;
let hosts: HostTable;

beforeEach(async () => {
  store = new SqliteStore(':memory:', { onDefect: rethrow });
  const bus = new EventBus(store);
  hosts = new HostTable(store, testSeal());
  const table = new WorkflowTable(store, testSeal());
  workflows = await Workflows.open({ store, table, bus, now, timeoutGraceMs: 0, onFailure: rethrow });
  const settings = () => SiteSettingsSchema.parse({});
  const nodes = new Nodes({
    ...{ store, hosts, bus, projectId: 'p', isStrict: false, now },
    maxUnknown: () => 10,
  });
  askingAgents = new AskingAgents({
    ...{ store, hosts, nodes, projectId: 'p', now },
    workers: workflows.index,
    maxUnknown: () => 10,
  });
  enrollment = new Enrollment({
    ...{ store, hosts, nodes, workflows, settings, projectId: 'p', now },
    template: async () => ({ ...TEMPLATE, isBuiltIn: true }),
  });
  await hosts.save(newHost(hostId, 'p', now()));
});

afterEach(async () => {
  workflows.stop();
  await store.close();
});

const ask = (change: Partial<GetActionCall> = {}) =>
  getAction(
    {
      workflows,
      enrollment,
      askingAgents,
      holdMs: 600_000,
      stopping: new AbortController().signal,
      onDefect: rethrow,
    },
    {
      agentId: WORKER,
      hostId,
      address: '10.0.0.7',
      attributes: undefined,
      mayUse: async () => true,
      onCanceled: () => {},
      ...change,
    },
  );
const add = (id: string) =>
  workflows.add(defineWorkflow({ id, hostId, generation: 1, template: TEMPLATE, data: {}, now: now() }));

test('a workflow that comes while the store is asked about an earlier one is not missed', async () => {
  await add('not-mine');
  const { promise: asked, resolve: hasAsked } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const action = ask({
    mayUse: async ({ definition }) => {
      if (definition.id !== 'not-mine') return true;
      hasAsked();
      await answered;
      return false;
    },
  });
  await asked;
  await add('mine');
  answer();
  expect((await action).workflowId).toBe('mine');
});

test('an agent that goes away while it waits for the store is not held', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const busy = store.transaction(() => released);
  let cancel = () => {};
  const action = ask({
    attributes: create(AgentAttributesSchema),
    onCanceled: (listener) => {
      cancel = listener;
    },
  });
  cancel();
  release();
  await expect(action).rejects.toMatchObject({ code: status.CANCELLED });
  await busy;
});

test('a node that asks is seen; a person who asks in its place is not', async () => {
  await add('mine');
  await ask({ address: undefined });
  expect((await hosts.byId(hostId))?.lastSeenAt).toBeNull();
  await ask();
  expect((await hosts.byId(hostId))?.lastSeenAt).toBe(now().toISOString());
});
