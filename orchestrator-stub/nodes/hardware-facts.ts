import { z } from 'zod';
import type { DiskFacts, HardwareFacts, NicFacts } from '../../protocol/hardware-facts.ts';
import type { Discovery } from './discovery.ts';

const text = z.string().max(200).nullable().catch(null).default(null);
const amount = z.number().nonnegative().nullable().catch(null).default(null);

const CpuSchema = z.object({ model: z.string().max(200), sockets: amount, cores: amount });
const MemorySchema = z.object({ totalBytes: amount });
const TpmSchema = z.object({ version: z.string().max(20), manufacturer: text });
const FirmwareSchema = z.object({ kind: text, vendor: text, version: text, date: text, secureBoot: text });
const DiskSchema = z.object({
  path: z.string(),
  bus: text,
  model: text,
  serial: text,
  wwn: text,
  sizeBytes: amount,
}) satisfies z.ZodType<DiskFacts>;
const NicSchema = z.object({
  name: z.string(),
  mac: text,
  permanentMac: text,
  driver: text,
  speedMbps: amount,
});

/** An inventory comes from the machine itself: what is not of the form that it should have counts as not said. */
export function hardwareFacts(inventory: Discovery | undefined): HardwareFacts {
  const { identity, cpu, disks, nics, firmware } = inventory ?? {};
  return {
    manufacturer: text.parse(identity?.['manufacturer']),
    product: text.parse(identity?.['product']),
    cpu: CpuSchema.safeParse(cpu).data ?? null,
    memoryBytes: MemorySchema.safeParse(inventory?.['memory']).data?.totalBytes ?? null,
    disks: (disks ?? []).filter(isFixedDisk).flatMap((disk) => DiskSchema.safeParse(disk).data ?? []),
    nics: (nics ?? []).flatMap((nic) => NicSchema.safeParse(nic).data ?? []).map(nicFacts),
    firmware: FirmwareSchema.safeParse(firmware ?? {}).data ?? FirmwareSchema.parse({}),
    tpm: TpmSchema.safeParse(inventory?.['tpm']).data ?? null,
  };
}

/** Sticks, virtual media, the stick that it was booted from and disks over the network are no parts of the machine. */
function isFixedDisk(disk: Record<string, unknown>): boolean {
  const isElsewhere = ['isRemovable', 'isVirtualMedia', 'isBootMedium', 'network'].some((fact) => disk[fact]);
  return disk['kind'] === 'disk' && !isElsewhere;
}

function nicFacts({ permanentMac, ...nic }: z.output<typeof NicSchema>): NicFacts {
  return { ...nic, mac: permanentMac ?? nic.mac };
}
