import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EventBus, type StubEvent } from '../../../orchestrator-stub/events/bus.ts';
import { HostTable } from '../../../orchestrator-stub/nodes/host-table.ts';
import { newHost } from '../../../orchestrator-stub/nodes/registration.ts';
import { SqliteStore } from '../../../orchestrator-stub/store/sqlite-store.ts';
import { defineWorkflow } from '../../../orchestrator-stub/workflow/definition.ts';
import { WorkflowTable } from '../../../orchestrator-stub/workflow/workflow-table.ts';
import { Workflows } from '../../../orchestrator-stub/workflow/workflows.ts';
import { toHostId } from '../../../protocol/ids.ts';
import { testSeal } from '../seal/test-seal.ts';
import { TWO_ACTIONS } from './two-actions.ts';

const SEAL = testSeal();

let store: SqliteStore;
let workflows: Workflows;
let events: StubEvent[];

beforeEach(async () => {
  const onFailure = (thrown: unknown) => {
    throw thrown;
  };
  const now = () => new Date('2026-11-18T12:00:00Z');
  store = new SqliteStore(':memory:', { onDefect: onFailure });
  const bus = new EventBus(store);
  events = [];
  bus.subscribe(({ event }) => events.push(event));
  const table = new WorkflowTable(store, SEAL);
  workflows = await Workflows.open({ store, table, bus, now, timeoutGraceMs: 0, onFailure });
  const hostId = toHostId('host-1');
  await new HostTable(store, SEAL).save(newHost(hostId, 'p', now()));
  await workflows.add(
    defineWorkflow({ id: 'w', hostId, generation: 1, template: TWO_ACTIONS, data: {}, now: now() }),
  );
  events.length = 0;
});

afterEach(async () => {
  workflows.stop();
  await store.close();
});

describe('two that change one workflow at the same time', () => {
  test('a report that was judged by what is no longer so is not applied', async () => {
    const seen = await workflows.get('w');
    const report = { index: 0, state: 'RUNNING' as const, message: '' };
    const canceled = workflows.cancel('w', 'by the operator');
    expect(await workflows.report(seen, report)).toBe(false);
    await canceled;
    expect((await workflows.get('w')).progress.state).toBe('CANCELLED');
  });

  test('the same report twice is applied once', async () => {
    const seen = await workflows.get('w');
    const report = { index: 0, state: 'SUCCESS' as const, message: 'done' };
    const both = await Promise.all([workflows.report(seen, report), workflows.report(seen, report)]);
    expect(both).toEqual([true, false]);
    expect(events).toHaveLength(1);
  });

  test('a pause and a report both count', async () => {
    const seen = await workflows.get('w');
    const report = { index: 0, state: 'RUNNING' as const, message: '' };
    await Promise.all([workflows.report(seen, report), workflows.pause('w')]);
    const { progress } = await workflows.get('w');
    expect(progress).toMatchObject({ state: 'RUNNING', isPaused: true });
    // What memory holds is what a restart would find.
    expect((await new WorkflowTable(store, SEAL).byId('w'))?.progress).toEqual(progress);
  });
});

test('a transaction sees its own changes, nobody else does before its COMMIT', async () => {
  const { promise: looked, resolve: hasLooked } = Promise.withResolvers<void>();
  const { promise: paused, resolve: isPaused } = Promise.withResolvers<void>();
  const changing = store.transaction(async () => {
    await workflows.pause('w');
    expect((await workflows.get('w')).progress.isPaused).toBe(true);
    isPaused();
    await looked;
  });
  await paused;
  expect((await workflows.get('w')).progress.isPaused).toBe(false);
  hasLooked();
  await changing;
  expect((await workflows.get('w')).progress.isPaused).toBe(true);
});
