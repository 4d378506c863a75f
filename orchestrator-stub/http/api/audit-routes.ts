import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import type { AuditLog } from '../../audit/audit-log.ts';

export interface AuditRouteParts {
  audit: AuditLog;
}

const fields = z.record(z.string(), z.unknown()).optional();
const AuditLineSchema = z
  .object({
    line: z.number(),
    at: z.string(),
    who: z.string().describe('A person, or the id of a node'),
    role: z.string(),
    from: z.string().describe('Address of the caller'),
    action: z.string().describe('The operation’s name'),
    node: z.string().optional(),
    nodeName: z.string().optional(),
    target: z.string().describe('What it was done to, as the caller named it'),
    before: fields.describe('Fields that are no longer as they were; secrets are left out'),
    after: fields.describe('What they became'),
    result: z.string().describe('"done", or the code of the refusal'),
    hash: z.string().describe('SHA-256 of the line and of the hash before it'),
  })
  .meta({ id: 'AuditLine' });
const VerdictSchema = z
  .object({
    lines: z.number(),
    head: z.string().describe('Hash of the last good line'),
    broken: z.object({ line: z.number(), reason: z.string() }).nullable(),
  })
  .meta({ id: 'AuditVerdict' });
const text = z.string().max(200).optional();

const tag = 'audit';

/** Who did what at this site. */
export function auditRoutes({ audit }: AuditRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/v1/audit',
      access: 'person',
      tag,
      operationId: 'listAudit',
      summary: 'Every change and every secret that was read, the oldest first',
      query: z.object({
        after: z.coerce.number().int().min(0).default(0).describe('Only lines behind this one'),
        limit: z.coerce.number().int().min(1).max(10_000).default(1000),
        since: z.iso.datetime().optional(),
        who: text,
        node: text,
        action: text,
      }),
      answer: z.object({ lines: z.array(AuditLineSchema) }),
      handle: async ({ query }) => ({ lines: await audit.list(query) }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/audit/verify',
      access: 'person',
      tag,
      operationId: 'verifyAudit',
      summary: 'Whether every line is as it was written',
      query: z.object({
        expect: z
          .string()
          .regex(/^[1-9]\d{0,14}:[0-9a-f]{64}$/, 'LINE:HASH, as it was shown earlier')
          .optional()
          .describe('A line that was written down earlier: shows that nothing was cut off'),
      }),
      answer: VerdictSchema,
      handle: ({ query }) => {
        const [line, hash] = query.expect?.split(':') ?? [];
        return audit.verify(line && hash ? { line: Number(line), hash } : undefined);
      },
    }),
  ];
}
