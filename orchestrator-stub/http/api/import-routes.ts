import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import {
  IMPORT_STATES,
  type ImportAnswer,
  type ImportSummary,
  ROW_OUTCOMES,
  ROW_VERDICTS,
} from '../../../protocol/imports.ts';
import type { Imports } from '../../imports/imports.ts';
import { MAX_ROWS } from '../../imports/machine-list.ts';

export interface ImportRouteParts {
  imports: Imports;
}

const RowSchema = z
  .object({
    line: z.number().describe('As an editor counts: the header is line 1'),
    cells: z.array(z.string()),
    node: z.string().describe('What a person calls the machine'),
    verdict: z.enum(ROW_VERDICTS).describe('What would become of it'),
    faults: z.array(
      z.object({
        column: z.number().nullable().describe('Index into `columns`; null: the row as a whole'),
        message: z.string(),
      }),
    ),
    changes: z.array(z.object({ field: z.string(), from: z.string(), to: z.string() })),
    outcome: z.enum(ROW_OUTCOMES).nullable().describe('What became of it; null: nothing yet'),
    detail: z.string().describe('Why it failed'),
    nodeId: z.string().nullable(),
  })
  .meta({ id: 'ImportRow' });

const summaryFields = {
  id: z.string(),
  file: z.string(),
  state: z.enum(IMPORT_STATES),
  createdAt: z.string(),
  createdBy: z.string(),
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
  total: z.number(),
  verdicts: z.record(z.enum(ROW_VERDICTS), z.number()),
  outcomes: z.record(z.enum(ROW_OUTCOMES), z.number()),
  wanted: z.number().describe('How many rows are imported; the others are bad'),
  done: z.number().describe('How many of them are settled'),
};
const SummarySchema = z
  .object(summaryFields)
  .meta({ id: 'ImportSummary' }) satisfies z.ZodType<ImportSummary>;
const ImportSchema = z
  .object({ ...summaryFields, columns: z.array(z.string()), rows: z.array(RowSchema) })
  .meta({ id: 'Import' }) satisfies z.ZodType<ImportAnswer>;

const flag = z.enum(['true', 'false']);
const tag = 'imports';

/** Lists of machines. */
export function importRoutes({ imports }: ImportRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'POST',
      path: '/api/v1/imports',
      access: 'person',
      tag,
      operationId: 'checkImport',
      summary: 'Send a list of machines (CSV): every row gets a verdict, nothing changes yet',
      body: z.string(),
      bodyType: 'text/csv',
      query: z.object({
        file: z.string().min(1).max(200).default('machines.csv').describe('Name of the file'),
        autoOnboard: flag.default('true').describe('Give credentials at the first knock'),
      }),
      status: 201,
      answer: ImportSchema,
      handle: ({ body, query, person }) =>
        imports.check(body, {
          file: query.file,
          autoOnboard: query.autoOnboard === 'true',
          by: person?.name ?? '',
        }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/imports',
      access: 'person',
      tag,
      operationId: 'listImports',
      summary: 'The last hundred imports, the newest first',
      answer: z.object({ imports: z.array(SummarySchema) }),
      handle: async () => ({ imports: await imports.list() }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/imports/{id}',
      access: 'person',
      tag,
      operationId: 'getImport',
      summary: 'One import with its rows; the rejected ones as CSV are at `/api/v1/imports/{id}/errors.csv`',
      query: z.object({
        after: z.coerce.number().int().min(0).default(0).describe('Only rows behind this line'),
        limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(MAX_ROWS),
      }),
      answer: ImportSchema,
      handle: ({ path, query }) => imports.get(path['id'] ?? '', query),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/imports/{id}/start',
      access: 'person',
      tag,
      operationId: 'startImport',
      summary: 'Import the rows; `GET /api/v1/events?types=import` tells how far it is',
      query: z.object({
        skipBad: flag.default('false').describe('Leave bad rows out; by default one stops everything'),
      }),
      answer: SummarySchema,
      handle: ({ path, query, person, client }) =>
        imports.start(path['id'] ?? '', query.skipBad === 'true', {
          name: person?.name ?? '',
          role: person?.role ?? '',
          from: client,
        }),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/imports/{id}/undo',
      access: 'person',
      tag,
      operationId: 'undoImport',
      summary: 'Make everything as it was before the import, while none of its machines has booted',
      answer: SummarySchema,
      handle: ({ path }) => imports.undo(path['id'] ?? ''),
    }),
  ];
}
