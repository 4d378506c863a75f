import { z } from 'zod';
import { currentIndex, planToApprove, type StoredWorkflow } from '../../workflow/workflow.ts';

const ActionSchema = z
  .object({
    id: z.string(),
    task: z.string(),
    name: z.string(),
    worker: z.string(),
    image: z.string(),
    timeout: z.number(),
    state: z.string(),
    attempt: z.number(),
    startedAt: z.string().nullable(),
    stoppedAt: z.string().nullable(),
    seconds: z.number(),
    message: z.string(),
    heardAt: z.string().optional().describe('When the node last said anything about it'),
    consent: z.string().optional().describe('Hash of the plan that was approved for this attempt'),
  })
  .meta({ id: 'WorkflowAction' });

export const WorkflowSchema = z
  .object({
    id: z.string(),
    nodeId: z.string(),
    template: z.string(),
    generation: z.number(),
    state: z.enum(['PENDING', 'RUNNING', 'SUCCESS', 'FAILED', 'TIMEOUT', 'CANCELLED']),
    isPaused: z.boolean(),
    message: z.string(),
    planToApprove: z
      .string()
      .nullable()
      .describe('Hash of the plan that waits for consent; what it destroys is in the message'),
    current: z.number().describe('Index of the first action that has not succeeded'),
    globalTimeout: z.number(),
    createdAt: z.string(),
    startedAt: z.string().nullable(),
    finishedAt: z.string().nullable(),
    actions: z.array(ActionSchema),
  })
  .meta({ id: 'Workflow' });

/** What the API shows of a workflow. Environments are left out: they carry secrets. */
export function workflowView({ definition, progress }: StoredWorkflow): z.input<typeof WorkflowSchema> {
  return {
    id: definition.id,
    nodeId: definition.hostId,
    template: definition.template,
    generation: definition.generation,
    state: progress.state,
    isPaused: progress.isPaused,
    message: progress.message,
    planToApprove: planToApprove(progress) ?? null,
    current: currentIndex(progress),
    globalTimeout: definition.globalTimeout,
    createdAt: definition.createdAt,
    startedAt: progress.startedAt,
    finishedAt: progress.finishedAt,
    actions: definition.actions.map((action, index) => ({
      id: action.id,
      task: action.taskName,
      name: action.name,
      worker: action.workerId,
      image: action.image,
      timeout: action.timeout,
      ...(progress.actions[index] ?? {
        state: 'PENDING',
        attempt: 1,
        startedAt: null,
        stoppedAt: null,
        seconds: 0,
        message: '',
      }),
    })),
  };
}
