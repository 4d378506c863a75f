import { z } from 'zod';
import { MAC_PATTERN, UUID_PATTERN } from '../../nodes/registration.ts';
import { isSerial, SERIAL_RULE } from '../../nodes/serial.ts';

const uuid = z.string().regex(UUID_PATTERN, 'must be a UUID');
const serial = z.string().refine((text) => isSerial(text), { error: `must be ${SERIAL_RULE}` });
const mac = z.string().regex(MAC_PATTERN, 'must be a MAC address like 52:54:00:12:34:56');
const name = z.string().min(1).max(120);
const metadata = z.record(z.string().min(1).max(200), z.string().max(1000));
const mayEnroll = z.boolean().describe('False: never gets a workflow by an enrollment rule');

export const RegistrationSchema = z
  .strictObject({
    name: name.optional(),
    uuid: uuid.optional(),
    serial: serial.optional(),
    mac: mac.optional(),
    autoOnboard: z
      .boolean()
      .optional()
      .describe('Give credentials at the first knock instead of waiting for «onboard»'),
    profile: name.optional(),
    site: name.optional(),
    metadata: metadata.optional(),
    mayEnroll: mayEnroll.optional(),
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
  })
  .meta({ id: 'Correction' });

/** Only what the stub relies on is checked; the rest is kept as it came, so that newer agents can tell more. */
export const DiscoverySchema = z
  .looseObject({
    identity: z.looseObject({
      uuid: uuid.optional(),
      serial: z.string().max(200).optional(),
      macs: z.array(mac).max(256),
      bootMac: mac.optional(),
      nodeId: z.string().min(1).max(200),
    }),
    // These go into templates: a path is a path and a name is a name, never text with a meaning of its own.
    disks: z
      .array(
        z.looseObject({
          kind: z.string().max(40),
          path: z
            .string()
            .max(200)
            .regex(/^\/dev\/[\w/:.+-]+$/, 'must be a path below /dev'),
        }),
      )
      .max(1024)
      .optional(),
    nics: z
      .array(
        z.looseObject({
          name: z.string().regex(/^[\w.:@-]{1,64}$/),
          mac: z.union([mac, z.literal('')]).optional(),
        }),
      )
      .max(1024)
      .optional(),
  })
  .meta({ id: 'Discovery', description: 'The Inventory of protocol/inventory.ts' });

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
  })
  .meta({ id: 'Status' });

export const NodeSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.string().describe('One line for a person'),
    isRegistered: z.boolean(),
    uuid: z.string().nullable(),
    serial: z.string().nullable(),
    mac: z.string().nullable(),
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
    generation: z.number(),
    provisionedGeneration: z.number(),
    firstBootAt: z.string().nullable(),
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
      })
      .nullable(),
    mayEnroll: z.boolean(),
    inventory: z.unknown().optional().describe('Only for a single node'),
    attributes: z
      .unknown()
      .optional()
      .describe('What a Tinkerbell agent said of the machine (AgentAttributes); only for a single node'),
  })
  .meta({ id: 'Node' });

export type NodeView = z.input<typeof NodeSchema>;
