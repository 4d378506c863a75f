import { z } from 'zod';
import { mac, uuid } from '../../nodes/discovery.ts';
import { EK_HASH_PATTERN } from '../../nodes/registration.ts';
import { isSerial, SERIAL_RULE } from '../../nodes/serial.ts';
import { PROOF_REQUIREMENTS } from '../../proof/decide-proof.ts';

const serial = z.string().refine((text) => isSerial(text), { error: `must be ${SERIAL_RULE}` });
const name = z.string().min(1).max(120);
const metadata = z.record(z.string().min(1).max(200), z.string().max(1000));
const mayEnroll = z.boolean().describe('False: never gets a workflow by an enrollment rule');
const proof = z
  .enum(PROOF_REQUIREMENTS)
  .describe('Whether it proves itself by its TPM; absent: as its profile or the site says');
const ekHash = z
  .string()
  .regex(EK_HASH_PATTERN, '64 hexadecimal digits')
  .describe(
    'SHA-256 of the SubjectPublicKeyInfo of the endorsement key: no other TPM is let in as this node',
  );

export const RegistrationSchema = z
  .strictObject({
    name: name.optional(),
    uuid: uuid.optional(),
    serial: serial.optional(),
    mac: mac.optional(),
    autoOnboard: z
      .boolean()
      .optional()
      .describe('Give credentials at the first knock instead of waiting for “onboard”'),
    profile: name.optional(),
    site: name.optional(),
    metadata: metadata.optional(),
    mayEnroll: mayEnroll.optional(),
    proof: proof.optional(),
    ekHash: ekHash.optional(),
  })
  .refine((value) => value.uuid || value.serial || value.mac, { error: 'needs a uuid, a serial or a mac' })
  .meta({ id: 'Registration' });

export const CorrectionSchema = z
  .strictObject({
    name: name.optional(),
    uuid: uuid.nullable().optional(),
    serial: serial.nullable().optional(),
    mac: mac.nullable().optional(),
    profile: name.optional(),
    site: name.optional(),
    metadata: metadata.optional(),
    mayEnroll: mayEnroll.optional(),
    proof: proof.nullable().optional(),
    ekHash: ekHash
      .nullable()
      .optional()
      .describe('null: forget the TPM; the next one is judged as a new one is'),
  })
  .meta({ id: 'Correction' });

export const LogLineSchema = z
  .object({
    stream: z.string().describe('One run of one writer'),
    sequence: z.number(),
    time: z.string(),
    level: z.string(),
    message: z.string(),
    fields: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'LogLine' });

const StatusSchema = z
  .object({
    text: z.string(),
    indicator: z.enum(['UNSPECIFIED', 'ERROR', 'IN_PROGRESS', 'IDLE']),
    at: z.string(),
    error: z
      .object({ code: z.string(), hint: z.string() })
      .optional()
      .describe('Of what failed, where it has a code'),
  })
  .meta({ id: 'Status' });

const AGENT_STATES = ['installing', 'failed', 'ready'] as const;
const reported = z.string().max(255);

const SystemReportSchema = z
  .object({
    hostname: reported,
    kernel: reported,
    cloudInit: reported.describe('cloud-init’s own word: done, running, error, degraded or absent'),
    failedUnits: z.array(reported).max(100).describe('Units that systemd could not start, or that died'),
  })
  .meta({ id: 'SystemReport' });

/** What an installed system sends. Its script may be older than this server: everything has a default. */
export const FirstBootReportSchema = z.object({
  hostname: reported.default(''),
  kernel: reported.default(''),
  cloudInit: reported.default('absent'),
  failedUnits: z.array(reported).max(100).default([]),
  agents: z.enum(AGENT_STATES).optional().describe('Only where the profile has agents or an installer'),
  reason: z.string().max(1000).default('').describe('Why the agents failed'),
});

export const NodeSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.string().describe('One line for a person'),
    isRegistered: z.boolean(),
    uuid: z.string().nullable(),
    serial: z.string().nullable(),
    mac: z.string().nullable(),
    registeredAs: z
      .object({ uuid: z.string().nullable(), serial: z.string().nullable(), mac: z.string().nullable() })
      .describe('What an operator said of it; "serial" and "mac" may be the word of the machine'),
    ip: z.string().nullable(),
    projectId: z.string(),
    desiredState: z.string(),
    currentState: z.string(),
    registrationStatus: StatusSchema,
    onboardingStatus: StatusSchema,
    hostStatus: StatusSchema,
    provisioningStatus: StatusSchema.nullable(),
    profile: z.string().nullable(),
    site: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    proof: proof.nullable(),
    ekHash: z.string().nullable().describe('The TPM that the node is known by'),
    proven: z
      .object({ at: z.string(), certifiedBy: z.string().nullable() })
      .nullable()
      .describe('When it proved itself last, and the CA of its TPM; null: it was let in without, or not yet'),
    generation: z.number(),
    provisionedGeneration: z.number(),
    firstBootAt: z.string().nullable(),
    firstBoot: SystemReportSchema.nullable().describe('What the installed system last said of itself'),
    agents: z
      .object({ state: z.enum(AGENT_STATES), reason: z.string(), at: z.string() })
      .nullable()
      .describe('How the agents of the installed system fare; null where its profile has none'),
    createdAt: z.string(),
    lastSeenAt: z.string().nullable(),
    workflow: z
      .object({
        id: z.string(),
        state: z.string(),
        action: z.string(),
        index: z.number(),
        total: z.number(),
        message: z.string(),
        heardAt: z.string().nullable().describe('When the node last said anything about the action'),
      })
      .nullable(),
    mayEnroll: z.boolean(),
    acceptedParts: z
      .string()
      .nullable()
      .describe('Differences from the bill of materials that a person accepted'),
    inventory: z.unknown().optional().describe('Only for a single node'),
    attributes: z
      .unknown()
      .optional()
      .describe('What a Tinkerbell agent said of the machine (AgentAttributes); only for a single node'),
  })
  .meta({ id: 'Node' });

export type NodeView = z.input<typeof NodeSchema>;
