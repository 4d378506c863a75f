import { z } from 'zod';
import type { Label } from '../../../protocol/label.ts';
import type { ShiftFigures } from '../../../protocol/shift-figures.ts';
import type { ShippingRecord, SignedRecord } from '../../../protocol/shipping-record.ts';

const text = z.string().nullable();
const number = z.number().nullable();

const CertificateSchema = z
  .object({
    certificate: z.object({
      version: z.literal(1),
      disk: z.object({
        path: z.string(),
        sizeBytes: z.number(),
        serial: z.string().exactOptional(),
        wwn: z.string().exactOptional(),
        model: z.string().exactOptional(),
      }),
      method: z.string(),
      nistClass: z.enum(['none', 'clear', 'purge']),
      startedAt: z.string(),
      finishedAt: z.string(),
      samples: z.array(
        z.object({
          offset: z.number(),
          sha256: z.string(),
          found: z.enum(['zeros', 'other', 'unchanged']),
        }),
      ),
      isProved: z.boolean(),
      isBlank: z.boolean(),
    }),
    algorithm: z.literal('Ed25519'),
    publicKey: z.string(),
    signature: z.string(),
  })
  .meta({ id: 'ErasureCertificate' });

/** protocol/shipping-record.ts as the OpenAPI document has it. */
const RecordSchema = z
  .object({
    version: z.literal(1),
    madeAt: z.string(),
    site: z.string().describe('The project id'),
    node: z.object({
      id: z.string(),
      name: z.string(),
      uuid: text,
      serial: text,
      macs: z.array(z.string()),
      place: text,
      site: text,
      metadata: z.record(z.string(), z.string()),
    }),
    hardware: z.object({
      manufacturer: text,
      product: text,
      cpu: z.object({ model: z.string(), sockets: number, cores: number }).nullable(),
      memoryBytes: number,
      disks: z.array(
        z.object({
          path: z.string(),
          bus: text,
          model: text,
          serial: text,
          wwn: text,
          sizeBytes: number,
          erasure: CertificateSchema.nullable().describe('The newest of this disk'),
        }),
      ),
      nics: z.array(z.object({ name: z.string(), mac: text, driver: text, speedMbps: number })),
      firmware: z.object({ kind: text, vendor: text, version: text, date: text, secureBoot: text }),
      tpm: z.object({ version: z.string(), manufacturer: text }).nullable(),
    }),
    otherErasures: z.array(CertificateSchema).describe('Of disks that the machine no longer has'),
    proof: z.object({ ekHash: z.string(), provenAt: text, certifiedBy: text }).nullable(),
    system: z.object({
      profile: text,
      generation: z.number(),
      imageUrl: text,
      imageSha256: text.describe('As the profile asks for it'),
      written: z
        .object({ at: z.string(), sha256: text, manifestRoot: text, bytes: number })
        .nullable()
        .describe('What the node says it has written'),
      firstBootAt: text,
    }),
    outcome: z.object({
      verdict: z.enum(['done', 'failed', 'open']),
      status: z.string(),
      reason: z.object({ code: text, message: z.string() }).nullable(),
    }),
    stages: z.array(
      z.object({
        name: z.string(),
        state: z.string(),
        attempt: z.number(),
        startedAt: text,
        stoppedAt: text,
        seconds: z.number(),
      }),
    ),
    people: z.array(
      z.object({
        at: z.string(),
        who: z.string(),
        role: z.string(),
        station: z.string().describe('The address it was done from'),
        action: z.string(),
      }),
    ),
    log: z.object({ lines: z.number(), sha256: z.string().describe('Of log.jsonl in the batch') }),
  })
  .meta({ id: 'ShippingRecord' }) satisfies z.ZodType<ShippingRecord>;

export const SignedRecordSchema = z
  .object({
    record: RecordSchema,
    seal: z.string().describe('The same record with Ed25519 signatures of the site'),
  })
  .meta({ id: 'SignedRecord' }) satisfies z.ZodType<SignedRecord>;

export const LabelSchema = z
  .object({
    short: z.string(),
    name: z.string(),
    lines: z.array(z.string()),
    url: z.string(),
    qr: z.object({ side: z.number(), path: z.string().describe('Path of SVG') }),
  })
  .meta({ id: 'Label' }) satisfies z.ZodType<Label>;

export const ShiftSchema = z
  .object({
    since: z.string(),
    until: z.string(),
    done: z.number().describe('Their system has reported'),
    failed: z.number().describe('Their last try ended badly'),
    firstPass: z.number().describe('Done at the first try'),
    firstPassYield: z.number().nullable().describe('firstPass of (done + failed)'),
    perHour: z.number(),
    slowestStage: z.object({ stage: z.string(), medianSeconds: z.number() }).nullable(),
  })
  .meta({ id: 'Shift' }) satisfies z.ZodType<ShiftFigures>;
