import { z } from 'zod';
import { MAC_PATTERN, UUID_PATTERN } from './registration.ts';

export const uuid = z.string().regex(UUID_PATTERN, 'must be a UUID');
export const mac = z.string().regex(MAC_PATTERN, 'must be a MAC address like 52:54:00:12:34:56');

/** With or without the length of its prefix and the name of its network card. */
const ADDRESS = /^[0-9A-Fa-f.:]{2,45}(?:%[\w.:@-]{1,64})?(?:\/\d{1,3})?$/;

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
          addresses: z.array(z.string().regex(ADDRESS, 'must be an IP address')).max(256).optional(),
          isBootNic: z.boolean().optional(),
        }),
      )
      .max(1024)
      .optional(),
    cpu: z.looseObject({ architecture: z.string().regex(/^[\w.-]{1,40}$/) }).optional(),
    firmware: z.looseObject({ kind: z.enum(['uefi', 'bios']) }).optional(),
  })
  .meta({ id: 'Discovery', description: 'The Inventory of protocol/inventory.ts' });

/** What a machine says of itself, as far as the orchestrator relies on it. */
export type Discovery = z.infer<typeof DiscoverySchema>;
