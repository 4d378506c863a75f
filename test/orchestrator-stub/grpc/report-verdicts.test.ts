import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { judgeCurrentReport, nextActionFor } from '../../../orchestrator-stub/grpc/current-answers.ts';
import { contextsFor, judgeLegacyReport } from '../../../orchestrator-stub/grpc/legacy-answers.ts';
import {
  applyReport,
  cancel,
  newProgress,
  type StoredWorkflow,
} from '../../../orchestrator-stub/workflow/workflow.ts';
import {
  ActionStatusRequestSchema,
  ActionStatusRequest_StateType as Current,
} from '../../../protocol/generated/tink-current_pb.js';
import { State, WorkflowActionStatusSchema } from '../../../protocol/generated/tink-legacy_pb.js';
import { toHostId } from '../../../protocol/ids.ts';

const now = new Date('2026-11-16T03:00:00Z');

/** Two tasks for two workers: a, b on mac-1, then c on mac-2. */
function workflow(done = 0): StoredWorkflow {
  const definition = {
    id: 'wf',
    hostId: toHostId('h'),
    template: 't',
    generation: 1,
    globalTimeout: 0,
    createdAt: now.toISOString(),
    actions: (
      [
        ['a', 'first', 'mac-1'],
        ['b', 'first', 'mac-1'],
        ['c', 'second', 'mac-2'],
      ] as const
    ).map(([name, taskName, workerId]) => ({
      id: `id-${name}`,
      taskId: `id-${taskName}`,
      taskName,
      name,
      workerId,
      image: 'i',
      timeout: 60,
      command: [],
      volumes: [],
      environment: ['A=1'],
      pid: 'host',
      network: '',
    })),
  };
  let progress = newProgress(definition);
  for (let index = 0; index < done; index++) {
    progress = applyReport(progress, { index, state: 'SUCCESS', message: '' }, now);
  }
  return { definition, progress };
}

const withProgress = (base: StoredWorkflow, change: Partial<StoredWorkflow['progress']>): StoredWorkflow => ({
  ...base,
  progress: { ...base.progress, ...change },
});

describe('legacy reports (docs/background/emf.md#workflow-server, docs/background/tinkerbell.md#legacy-server)', () => {
  const judge = (
    fields: Partial<{
      workflowId: string;
      taskName: string;
      actionName: string;
      actionStatus: State;
      message: string;
    }>,
    stored: StoredWorkflow | undefined = workflow(),
    isStrict = true,
  ) =>
    judgeLegacyReport(
      create(WorkflowActionStatusSchema, {
        workflowId: 'wf',
        taskName: 'first',
        actionName: 'a',
        actionStatus: State.RUNNING,
        ...fields,
      }),
      stored,
      isStrict,
    );
  const refused = (details: string) => ({ kind: 'refuse', code: status.INVALID_ARGUMENT, details });

  test.each([
    [{ workflowId: '' }, 'invalid workflow id'],
    [{ taskName: '' }, 'invalid task name'],
    [{ actionName: '' }, 'invalid action name'],
    [{ actionStatus: State.PENDING }, 'invalid workflow id'],
    [{ actionStatus: 99 as State }, 'invalid workflow id'],
    [{ taskName: 'second', actionName: 'c' }, 'reported task name does not match the current action details'],
    [{ actionName: 'b' }, 'reported action name does not match the current action details'],
  ])('row: legacy report %o → INVALID_ARGUMENT “%s”', (fields, details) => {
    expect(judge(fields)).toEqual(refused(details));
  });

  test('row: legacy report of an unknown workflow → INVALID_ARGUMENT “invalid workflow id”', () => {
    expect(
      judgeLegacyReport(
        create(WorkflowActionStatusSchema, { workflowId: 'x', taskName: 'y', actionName: 'z' }),
        undefined,
        true,
      ),
    ).toEqual(refused('invalid workflow id'));
  });

  test('row: legacy report of the current action → applied, with the message that tink-server drops', () => {
    expect(judge({ actionStatus: State.FAILED, message: 'disk is full' })).toEqual({
      kind: 'apply',
      report: { index: 0, state: 'FAILED', message: 'disk is full' },
    });
    expect(judge({ actionStatus: State.TIMEOUT })).toMatchObject({ report: { state: 'TIMEOUT' } });
  });

  test('row: legacy report repeated after it was applied → acknowledged, or refused by the letter', () => {
    const repeated = { actionStatus: State.SUCCESS };
    expect(judge(repeated, workflow(1), false)).toEqual({ kind: 'acknowledge' });
    expect(judge(repeated, workflow(1), true)).toEqual(
      refused('reported action name does not match the current action details'),
    );
    expect(judge({ actionStatus: State.RUNNING }, workflow(1), false)).toMatchObject({ kind: 'refuse' });
  });

  test('a workflow that is over takes late results without changing, but starts nothing', () => {
    const over = { ...workflow(), progress: cancel(workflow().progress, 'x', now) };
    expect(judge({ actionStatus: State.SUCCESS }, over)).toEqual({ kind: 'acknowledge' });
    expect(judge({ actionStatus: State.RUNNING }, over)).toMatchObject({
      kind: 'refuse',
      code: status.INVALID_ARGUMENT,
    });
  });

  test('a paused workflow makes the worker wait before the next action, and lets the running one end', () => {
    const paused = withProgress(workflow(), { isPaused: true });
    expect(judge({}, paused)).toMatchObject({ kind: 'refuse', code: status.UNAVAILABLE });
    const running = withProgress(
      {
        ...workflow(),
        progress: applyReport(workflow().progress, { index: 0, state: 'RUNNING', message: '' }, now),
      },
      { isPaused: true },
    );
    expect(judge({ actionStatus: State.SUCCESS }, running)).toMatchObject({ kind: 'apply' });
  });
});

describe('legacy contexts', () => {
  test('row: legacy context → the first action that has not succeeded, counted over all tasks', () => {
    expect(contextsFor('mac-1', [workflow(1)])[0]).toMatchObject({
      workflowId: 'wf',
      currentWorker: 'mac-1',
      currentTask: 'first',
      currentAction: 'b',
      currentActionIndex: 1n,
      currentActionState: State.PENDING,
      totalNumberOfActions: 3n,
    });
  });

  test('row: legacy context → to the worker of the current task only', () => {
    expect(contextsFor('mac-2', [workflow(1)])).toEqual([]);
    expect(contextsFor('mac-2', [workflow(2)])[0]).toMatchObject({
      currentAction: 'c',
      currentActionIndex: 2n,
    });
    expect(contextsFor('mac-1', [workflow(2)])).toEqual([]);
    expect(contextsFor('MAC-1', [workflow()])).toEqual([]);
  });
});

describe('what a current agent gets (docs/background/tinkerbell.md#getaction)', () => {
  test('row: GetAction with work → the next action, again while it is pending or running', () => {
    const next = nextActionFor('mac-1', [workflow(1)], false);
    expect(next).toMatchObject({
      action: {
        workflowId: 'wf',
        taskId: 'id-first',
        actionId: 'id-b',
        agentId: 'mac-1',
        name: 'b',
        timeout: 60n,
        pid: 'host',
        namespaces: { pid: 'host' },
      },
    });
    const running = {
      ...workflow(),
      progress: applyReport(workflow().progress, { index: 0, state: 'RUNNING', message: '' }, now),
    };
    expect(nextActionFor('mac-1', [running], false)).toMatchObject({ action: { name: 'a' } });
  });

  test.each([
    ['no workflow at all', [], false, status.NOT_FOUND, 'no Workflows found'],
    ['only finished ones', [], true, status.FAILED_PRECONDITION, 'Workflow not in pending or running state'],
    ['another agent’s turn', [workflow(2)], false, status.NOT_FOUND, 'Task not assigned to Agent'],
    [
      'one that is being prepared',
      [withProgress(workflow(), { isPaused: true })],
      false,
      status.FAILED_PRECONDITION,
      'Workflow is in preparing state',
    ],
    [
      'one that was paused on the way',
      [withProgress(workflow(1), { isPaused: true })],
      false,
      status.FAILED_PRECONDITION,
      'Workflow is paused',
    ],
  ] as const)('row: GetAction with %s', (_case, active, hasFinishedOne, code, details) => {
    expect(nextActionFor('mac-1', active, hasFinishedOne)).toEqual({ code, details });
  });

  test('a finished workflow does not hide a new one', () => {
    expect(nextActionFor('mac-1', [workflow()], true)).toMatchObject({ action: { name: 'a' } });
  });
});

describe('current reports', () => {
  const judge = (fields: Record<string, unknown>, stored: StoredWorkflow | undefined = workflow()) =>
    judgeCurrentReport(
      create(ActionStatusRequestSchema, {
        workflowId: 'wf',
        agentId: 'mac-1',
        taskId: 'id-first',
        actionId: 'id-a',
        actionState: Current.RUNNING,
        ...fields,
      }),
      stored,
    );

  test.each([
    [{ workflowId: '' }, status.INVALID_ARGUMENT, 'invalid workflow id'],
    [{ taskId: '' }, status.INVALID_ARGUMENT, 'invalid task name'],
    [{ actionId: '' }, status.INVALID_ARGUMENT, 'invalid action name'],
    [{ actionId: 'id-zz' }, status.NOT_FOUND, 'action not found'],
    [{ agentId: 'mac-2' }, status.NOT_FOUND, 'action not found'],
    [{ actionState: Current.UNSPECIFIED }, status.INVALID_ARGUMENT, 'invalid action state'],
    [{ actionId: 'id-b' }, status.FAILED_PRECONDITION, 'current Action not in success state'],
  ])('row: current report %o → %i “%s”', (fields, code, details) => {
    expect(judge(fields)).toEqual({ kind: 'refuse', code, details });
  });

  test('row: current report of an unknown workflow → INTERNAL, which the agent repeats', () => {
    const verdict = judgeCurrentReport(
      create(ActionStatusRequestSchema, { workflowId: 'x', taskId: 't', actionId: 'a' }),
      undefined,
    );
    expect(verdict).toMatchObject({
      code: status.INTERNAL,
      details: 'error getting workflow: workflow x not found',
    });
  });

  test('row: current report repeated or late → acknowledged: the agent would exit on a refusal', () => {
    expect(judge({ actionState: Current.SUCCESS }, workflow(1))).toEqual({ kind: 'acknowledge' });
    const over = { ...workflow(), progress: cancel(workflow().progress, 'x', now) };
    expect(judge({ actionState: Current.FAILED }, over)).toEqual({ kind: 'acknowledge' });
    expect(judge({ actionState: Current.PENDING })).toEqual({ kind: 'acknowledge' });
  });

  test('row: current report of the current action → applied with its message', () => {
    expect(judge({ actionState: Current.FAILED, message: { message: 'why' } })).toEqual({
      kind: 'apply',
      report: { index: 0, state: 'FAILED', message: 'why' },
    });
  });
});
