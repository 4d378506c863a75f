import { z } from 'zod';
import type { HardwareFacts } from '../../protocol/hardware-facts.ts';
import { formatBytes } from '../../system/format-bytes.ts';

const text = z.string().min(1).max(200).optional();
const count = z.number().int().min(1).max(1024).default(1);
const amount = z.number().positive().optional();

/** What machines of a profile are made of. What it does not name may be anything; of what it names, nothing may be left over. */
export const BillSchema = z
  .strictObject({
    manufacturer: text,
    product: text,
    cpu: text.describe('Model, as the machine says it'),
    cores: amount,
    memoryBytes: amount.describe('Within 5 %: firmware keeps a part for itself'),
    disks: z
      .array(z.strictObject({ count, model: text, bus: text, sizeBytes: amount }))
      .max(1024)
      .optional()
      .describe('Disks that are parts of the machine; removable ones do not count'),
    nics: z
      .array(z.strictObject({ count, driver: text }))
      .max(1024)
      .optional(),
    firmware: text.describe('Version'),
    secureBoot: text.describe('on, off, setup-mode or unsupported'),
    tpm: text.describe('1.2 or 2.0'),
  })
  .meta({ id: 'BillOfMaterials' });

export type Bill = z.output<typeof BillSchema>;

const MEMORY_TOLERANCE = 0.05;

/** The bill that this machine fulfills. */
export function learnBill(facts: HardwareFacts): z.input<typeof BillSchema> {
  const { manufacturer, product, cpu, memoryBytes, disks, nics, firmware, tpm } = facts;
  return BillSchema.parse(
    onlyKnown({
      manufacturer,
      product,
      cpu: cpu?.model,
      cores: cpu?.cores,
      memoryBytes,
      disks: counted(disks.map(({ model, bus, sizeBytes }) => onlyKnown({ model, bus, sizeBytes }))),
      nics: counted(nics.map(({ driver }) => onlyKnown({ driver }))),
      firmware: firmware.version,
      secureBoot: firmware.secureBoot,
      tpm: tpm?.version,
    }),
  );
}

/** In which ways a machine is not what was ordered, as lines for a person. */
export function billDifferences(bill: Bill, facts: HardwareFacts): string[] {
  const { cpu, memoryBytes, firmware, tpm } = facts;
  return [
    ...differs('manufacturer', facts.manufacturer, bill.manufacturer),
    ...differs('product', facts.product, bill.product),
    ...differs('processor', cpu?.model, bill.cpu),
    ...differs('cores', cpu?.cores, bill.cores),
    ...memoryDiffers(memoryBytes, bill.memoryBytes),
    ...partsDiffer('disk', facts.disks, bill.disks, (line) => diskWords(line)),
    ...partsDiffer('network card', facts.nics, bill.nics, ({ driver }) => driver ?? 'any'),
    ...differs('firmware', firmware.version, bill.firmware),
    ...differs('Secure Boot', firmware.secureBoot, bill.secureBoot),
    ...differs('TPM', tpm?.version, bill.tpm),
  ];
}

function differs(
  what: string,
  found: string | number | null | undefined,
  ordered: string | number | undefined,
) {
  if (ordered === undefined || found === ordered) return [];
  return [`${what} is ${found ?? 'not known'}, ordered is ${ordered}`];
}

function memoryDiffers(found: number | null, ordered: number | undefined): string[] {
  if (ordered === undefined) return [];
  if (found !== null && Math.abs(found - ordered) <= MEMORY_TOLERANCE * ordered) return [];
  return [
    `memory is ${found === null ? 'not known' : formatBytes(found)}, ordered is ${formatBytes(ordered)}`,
  ];
}

type PartLine = { count: number } & Record<string, string | number | undefined>;

/** Each part goes to the first line that it fits and that is not full: lines that say more should stand first. */
function partsDiffer<Line extends PartLine>(
  what: string,
  parts: readonly object[],
  lines: readonly Line[] | undefined,
  words: (line: Line) => string,
): string[] {
  if (!lines) return [];
  const found = lines.map(() => 0);
  let extra = 0;
  for (const part of parts) {
    const at = lines.findIndex((line, index) => fits(part, line) && (found[index] ?? 0) < line.count);
    if (at === -1) extra += 1;
    else found[at] = (found[at] ?? 0) + 1;
  }
  const missing = lines.flatMap((line, index) => {
    const has = found[index] ?? 0;
    return has === line.count ? [] : [`${what} ${words(line)}: ${has} found, ordered ${line.count}`];
  });
  return extra === 0 ? missing : [...missing, `${what}: ${extra} found that nobody ordered`];
}

function fits(part: object, { count: _count, ...wanted }: PartLine): boolean {
  return Object.entries(wanted).every(
    ([name, value]) => value === undefined || Reflect.get(part, name) === value,
  );
}

function diskWords({ model, bus, sizeBytes }: NonNullable<Bill['disks']>[number]): string {
  const size = sizeBytes === undefined ? undefined : formatBytes(sizeBytes);
  return [model, bus, size].filter((word) => word !== undefined).join(', ') || 'of any kind';
}

/** Equal lines as one with a count. */
function counted(lines: readonly object[]): { count: number }[] {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const key = JSON.stringify(line);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, number]) => ({ ...(JSON.parse(key) as object), count: number }));
}

/** What a machine left empty is nothing to ask others for. */
function onlyKnown(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => Boolean(value)));
}
