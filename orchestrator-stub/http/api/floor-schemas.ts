import { z } from 'zod';
import {
  FLOOR_GROUPS,
  type FloorNode,
  type FloorPage,
  type FloorSummary,
  NODE_STATUSES,
  type NodeStatus,
} from '../../../protocol/floor.ts';

const group = z.enum(FLOOR_GROUPS);
const status = z.enum(Object.keys(NODE_STATUSES) as [NodeStatus, ...NodeStatus[]]);

/** protocol/floor.ts as the OpenAPI document has it. */
const FloorNodeSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    place: z.string().nullable().describe('Where it stands: its metadata `place`'),
    site: z.string().nullable(),
    serial: z.string().nullable(),
    uuid: z.string().nullable(),
    macs: z.array(z.string()).describe('The boot MAC first'),
    profile: z.string().nullable(),
    group,
    status: status.describe('See [the statuses](node-statuses.md)'),
    statusText: z.string().describe('One line for a person'),
    stage: z
      .string()
      .nullable()
      .describe('The action it is at; `first-boot` after the last one, then `agents` where there are any'),
    doing: z.string().nullable().describe('What it does right now, for a person'),
    stageIndex: z.number().nullable().describe('From 0'),
    stageCount: z.number().nullable(),
    percent: z.number().nullable().describe('Of this stage'),
    bytesPerSecond: z.number().nullable(),
    secondsLeft: z.number().nullable().describe('Of this stage, as the node says'),
    since: z.string().describe('When it got this status, or into this stage'),
    heardAt: z.string().nullable().describe('When it last said anything'),
    reason: z
      .object({ code: z.string().nullable(), message: z.string(), next: z.string() })
      .nullable()
      .describe('Why it needs a hand, and what to do next'),
    workflowId: z.string().nullable(),
    plan: z.string().nullable().describe('Hash of the disk plan that waits for approval'),
  })
  .meta({ id: 'FloorNode' }) satisfies z.ZodType<FloorNode>;

export const FloorPageSchema = z
  .object({
    nodes: z.array(FloorNodeSchema),
    total: z.number().describe('How many fit, on all pages'),
    cursor: z.string().nullable().describe('For the next page; null on the last one'),
  })
  .meta({ id: 'FloorPage' }) satisfies z.ZodType<FloorPage>;

export const FloorSummarySchema = z
  .object({
    counts: z.record(group, z.number()),
    statuses: z.partialRecord(status, z.number()),
    secondsLeft: z.number().nullable().describe('Until the last one that runs is done, if all goes as usual'),
    doneLastHour: z.number(),
    stageTimes: z
      .array(
        z.object({
          profile: z.string(),
          stage: z.string(),
          medianSeconds: z.number(),
          p95Seconds: z.number(),
          runs: z.number(),
        }),
      )
      .describe('How long the stages of each profile took lately, in their order'),
    profiles: z.array(z.string()).describe('Those that some node has'),
    sites: z.array(z.string()).describe('Those that some node has'),
    eventId: z.number().describe('Where to begin with `GET /api/v1/events?types=floor&after=…`'),
  })
  .meta({ id: 'FloorSummary' }) satisfies z.ZodType<FloorSummary>;
