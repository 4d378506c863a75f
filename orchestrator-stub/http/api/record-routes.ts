import { z } from 'zod';
import { type ApiRoute, apiRoute, FileAnswer } from '../../../net/server/route.ts';
import type { SignedRecord } from '../../../protocol/shipping-record.ts';
import { packBatch } from '../../record/batch.ts';
import { labelOf } from '../../record/label.ts';
import { labelsHtml } from '../../record/label-html.ts';
import { labelsZpl } from '../../record/label-zpl.ts';
import { recordsCsv } from '../../record/record-csv.ts';
import type { Records } from '../../record/records.ts';
import type { SigningKeys } from '../../record/signing-keys.ts';
import { LabelSchema, ShiftSchema, SignedRecordSchema } from './record-schemas.ts';

export interface RecordRouteParts {
  records: Records;
  signingKeys: SigningKeys;
  projectId: string;
  /** Where other machines reach the page, for somebody who calls us by this address. */
  pageOrigin: (origin: string) => string;
  now: () => Date;
}

/** A truck load. What is larger is taken in parts. */
const MOST_NODES = 1000;
const SHIFT_MS = 8 * 3_600_000;

const FILE_TYPES = {
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  zpl: 'application/x-zpl; charset=utf-8',
  batch: 'application/gzip',
} as const;

const tag = 'records';

/** What leaves with the machines: signed records, labels, batches; and how the shift went. */
export function recordRoutes({
  records,
  signingKeys,
  projectId,
  pageOrigin,
  now,
}: RecordRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/v1/nodes/{id}/record',
      access: 'person',
      tag,
      operationId: 'getRecord',
      summary: 'The shipping record of a node as it is now, signed by the site',
      answer: SignedRecordSchema,
      handle: async ({ path }) => (await records.of(path['id'] ?? '')).signed,
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/nodes/{id}/label',
      access: 'person',
      tag,
      operationId: 'getLabel',
      summary: 'What stands on the label of a node, with a QR code of the address of its page',
      answer: LabelSchema,
      handle: async ({ path, origin }) =>
        labelOf((await records.of(path['id'] ?? '')).signed.record, pageOrigin(origin)),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/records',
      access: 'person',
      tag,
      operationId: 'exportRecords',
      summary: 'Records of many nodes as one file: a table, labels for a printer, or a signed batch',
      body: z.strictObject({
        nodes: z.array(z.string().min(1).max(200)).min(1).max(MOST_NODES),
        format: z
          .enum(['csv', 'html', 'zpl', 'batch'])
          .describe('`html` and `zpl` are labels; `batch` is a tar (gzip) with everything, signed'),
      }),
      files: Object.values(FILE_TYPES),
      answer: z.instanceof(FileAnswer),
      handle: async ({ body: { nodes, format }, origin }) => {
        const all = [];
        for (const node of nodes) all.push(await records.of(node));
        const signed = all.map((each): SignedRecord => each.signed);
        const labels = () => signed.map(({ record }) => labelOf(record, pageOrigin(origin)));
        const file = (name: string, bytes: string | Buffer) =>
          new FileAnswer(FILE_TYPES[format], name, bytes);
        switch (format) {
          case 'csv':
            return file('records.csv', recordsCsv(signed.map(({ record }) => record)));
          case 'html':
            return file('labels.html', labelsHtml(labels()));
          case 'zpl':
            return file('labels.zpl', labelsZpl(labels()));
          case 'batch': {
            const batch = {
              site: projectId,
              origin: pageOrigin(origin),
              keys: signingKeys.private(),
              now: now(),
            };
            return file('batch.tar.gz', await packBatch(all, batch));
          }
        }
      },
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/signing-keys',
      access: 'person',
      tag,
      operationId: 'listSigningKeys',
      summary:
        'The public keys that sign records, the newest first: give them to the people who check records',
      answer: z.object({ keys: z.array(z.string()) }),
      handle: () => ({ keys: signingKeys.public() }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/shift',
      access: 'person',
      tag,
      operationId: 'getShift',
      summary: 'How the work went: done, failed, first-pass yield, per hour, slowest stage',
      query: z.object({
        since: z.iso.datetime().optional().describe('By default eight hours ago'),
        until: z.iso.datetime().optional().describe('By default now'),
      }),
      answer: ShiftSchema,
      handle: ({ query }) => {
        const until = query.until ? new Date(query.until) : now();
        const since = query.since ? new Date(query.since) : new Date(until.getTime() - SHIFT_MS);
        return records.shift({ since: since.toISOString(), until: until.toISOString() });
      },
    }),
  ];
}
