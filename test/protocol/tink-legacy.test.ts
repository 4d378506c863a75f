import { describe, expect, it } from 'vitest';
import {
  EmptySchema,
  State,
  WorkflowActionListSchema,
  WorkflowActionStatusSchema,
  WorkflowActionsRequestSchema,
  WorkflowContextRequestSchema,
  WorkflowContextSchema,
  WorkflowService,
} from '../../protocol/generated/tink-legacy_pb.js';
import { methodPath } from '../../protocol/grpc-service.ts';
import { itIsOnTheWire } from './bytes.ts';

describe('tink-legacy on the wire', () => {
  it('has the method names of tink 0.9 to 0.12', () => {
    expect(Object.values(WorkflowService.method).map(methodPath)).toEqual([
      '/proto.WorkflowService/GetWorkflowContexts',
      '/proto.WorkflowService/GetWorkflowActions',
      '/proto.WorkflowService/ReportActionStatus',
    ]);
  });

  itIsOnTheWire('nothing at all', EmptySchema, '', {});
  itIsOnTheWire('worker id', WorkflowContextRequestSchema, '0a 11 "52:54:00:12:34:56"', {
    workerId: '52:54:00:12:34:56',
  });
  itIsOnTheWire('workflow id', WorkflowActionsRequestSchema, '0a 09 "ns/wf-abc"', {
    workflowId: 'ns/wf-abc',
  });
  itIsOnTheWire(
    'a context in the middle of a workflow',
    WorkflowContextSchema,
    `0a 06 "wf-abc"
     12 11 "52:54:00:12:34:56"
     1a 0f "OS provisioning"
     22 0f "stream-os-image"
     28 02
     30 01
     38 0a`,
    {
      workflowId: 'wf-abc',
      currentWorker: '52:54:00:12:34:56',
      currentTask: 'OS provisioning',
      currentAction: 'stream-os-image',
      currentActionIndex: 2n,
      currentActionState: State.RUNNING,
      totalNumberOfActions: 10n,
    },
  );
  itIsOnTheWire(
    'a list of two actions, every field of the first set, environment in order',
    WorkflowActionListSchema,
    `0a 4b
       0a 01 "t"
       12 04 "name"
       1a 0f "r/image2disk:1 "
       20 c8 4c
       2a 02 "sh"  2a 02 "-c"
       32 02 "ot"
       3a 02 "of"
       42 02 "w1"
       4a 09 "/dev:/dev"
       52 03 "A=1"  52 02 "B="
       5a 04 "host"
     0a 06  12 04 "next"`,
    {
      actionList: [
        {
          taskName: 't',
          name: 'name',
          image: 'r/image2disk:1 ',
          timeout: 9800n,
          command: ['sh', '-c'],
          onTimeout: ['ot'],
          onFailure: ['of'],
          workerId: 'w1',
          volumes: ['/dev:/dev'],
          environment: ['A=1', 'B='],
          pid: 'host',
        },
        { name: 'next' },
      ],
    },
  );
  itIsOnTheWire(
    'a report with every field',
    WorkflowActionStatusSchema,
    `0a 06 "wf-abc"
     12 01 "t"
     1a 04 "name"
     20 03
     28 90 1c
     32 07 "too old"
     3a 06  08 80 e2 cf aa 06
     42 02 "w1"`,
    {
      workflowId: 'wf-abc',
      taskName: 't',
      actionName: 'name',
      actionStatus: State.TIMEOUT,
      seconds: 3600n,
      message: 'too old',
      createdAt: { seconds: 1_700_000_000n },
      workerId: 'w1',
    },
  );
  for (const [state, number] of [
    [State.RUNNING, '01'],
    [State.FAILED, '02'],
    [State.TIMEOUT, '03'],
    [State.SUCCESS, '04'],
  ] as const) {
    itIsOnTheWire(`state ${State[state]} is ${number}`, WorkflowActionStatusSchema, `20 ${number}`, {
      actionStatus: state,
    });
  }
});
