import { createHash } from 'node:crypto';
import { FieldReader } from './fields.ts';
import { ALGORITHM, hashName } from './numbers.ts';

/**
 * The firmware's log of what it measured: "TCG PC Client Platform Firmware Profile" 1.06, chapter 10. All numbers have the lowest
 * byte first.
 */
export interface MeasuredEvent {
  pcr: number;
  type: number;
  /** By the number of the hash: one for each bank of registers. */
  digests: Map<number, Buffer>;
  data: Buffer;
}

/** 10.4.1 Event types, those that we tell apart. */
export const EVENT = {
  noAction: 0x03,
  separator: 0x04,
  action: 0x05,
  eventTag: 0x06,
  ipl: 0x0d,
  efiVariableDriverConfig: 0x80000001,
  efiVariableBoot: 0x80000002,
  efiBootServicesApplication: 0x80000003,
  efiGptEvent: 0x80000006,
  efiAction: 0x80000007,
  efiVariableAuthority: 0x800000e0,
} as const;

const SPEC_ID = 'Spec ID Event03\0';
const STARTUP_LOCALITY = 'StartupLocality\0';
const SHA1_SIZE = 20;
/** A machine measures some hundred events. */
const MOST_EVENTS = 10_000;
const MOST_HASHES = 8;

/** Reads the crypto-agile log of a TPM 2.0. Throws KND_TPM_MALFORMED, also for the older form that knows SHA-1 only. */
export function decodeEventLog(bytes: Uint8Array): MeasuredEvent[] {
  const fields = new FieldReader(bytes, 'the event log');
  const sizes = decodeHeader(fields);
  const events: MeasuredEvent[] = [];
  while (!fields.isAtEnd) {
    if (events.length === MOST_EVENTS) throw fields.fault('has more events than any machine');
    events.push(decodeEvent(fields, sizes));
  }
  return events;
}

/** 10.2.1 TCG_PCClientPCREvent and 10.4.5.1 TCG_EfiSpecIdEvent: which hashes follow, and how long each is. */
function decodeHeader(fields: FieldReader): Map<number, number> {
  fields.take(4 + 4 + SHA1_SIZE); // register, type, digest: all zero but the type
  const header = new FieldReader(fields.take(fields.u32le()), 'the header of the event log');
  if (header.take(SPEC_ID.length).toString('latin1') !== SPEC_ID) throw header.fault('is not of a TPM 2.0');
  header.take(4 + 1 + 1 + 1 + 1); // platform class, version minor and major, errata, size of UINTN
  const count = header.u32le();
  if (count > MOST_HASHES) throw header.fault('names more hashes than any TPM has');
  const sizes = new Map<number, number>();
  for (let hash = 0; hash < count; hash += 1) sizes.set(header.u16le(), header.u16le());
  header.take(header.u8());
  return sizes;
}

/** 10.2.2 TCG_PCR_EVENT2 */
function decodeEvent(fields: FieldReader, sizes: ReadonlyMap<number, number>): MeasuredEvent {
  const pcr = fields.u32le();
  const type = fields.u32le();
  const count = fields.u32le();
  if (count > sizes.size) throw fields.fault('has an event with more digests than its header names');
  const digests = new Map<number, Buffer>();
  for (let digest = 0; digest < count; digest += 1) {
    const hash = fields.u16le();
    const size = sizes.get(hash);
    if (size === undefined) throw fields.fault('has a digest that its header does not name');
    digests.set(hash, fields.take(size));
  }
  return { pcr, type, digests, data: fields.take(fields.u32le()) };
}

/** What the registers of one bank hold after these events; a register that no event went to is not in it. */
export function replay(events: readonly MeasuredEvent[], hash: number): Map<number, Buffer> {
  const name = hashName(hash) ?? 'sha256';
  const size = createHash(name).digest().length;
  const registers = new Map<number, Buffer>();
  for (const { pcr, type, digests, data } of events) {
    if (type === EVENT.noAction) {
      const locality = startupLocality(data);
      if (locality !== undefined) registers.set(0, Buffer.concat([Buffer.alloc(size - 1), locality]));
      continue;
    }
    const digest = digests.get(hash);
    if (!digest) continue;
    const before = registers.get(pcr) ?? Buffer.alloc(size);
    registers.set(pcr, createHash(name).update(before).update(digest).digest());
  }
  return registers;
}

/** 10.4.5.3 TCG_EfiStartupLocalityEvent: register 0 of a TPM that was started from a higher locality does not begin with zero. */
function startupLocality(data: Buffer): Buffer | undefined {
  const isOne =
    data.length === STARTUP_LOCALITY.length + 1 &&
    data.subarray(0, STARTUP_LOCALITY.length).toString('latin1') === STARTUP_LOCALITY;
  return isOne ? data.subarray(-1) : undefined;
}

/** Events whose data is exactly what was hashed (10.4.1): a log that was edited by hand shows in them. */
const DATA_IS_HASHED: readonly number[] = [
  EVENT.separator,
  EVENT.action,
  EVENT.efiVariableDriverConfig,
  EVENT.efiGptEvent,
  EVENT.efiAction,
  EVENT.efiVariableAuthority,
];

/** The number of the first event whose data is not what was measured. */
export function findForgedEvent(events: readonly MeasuredEvent[]): number | undefined {
  const found = events.findIndex(({ type, digests, data }) => {
    const digest = digests.get(ALGORITHM.sha256);
    return (
      digest !== undefined &&
      DATA_IS_HASHED.includes(type) &&
      !createHash('sha256').update(data).digest().equals(digest)
    );
  });
  return found < 0 ? undefined : found;
}

/** For people: "EFI program in PCR 4". */
export function describeEvent({ pcr, type }: MeasuredEvent): string {
  const names: Record<number, string> = {
    [EVENT.separator]: 'separator',
    [EVENT.action]: 'action',
    [EVENT.eventTag]: 'initrd or command line',
    [EVENT.ipl]: 'boot loader step',
    [EVENT.efiVariableDriverConfig]: 'Secure Boot setting',
    [EVENT.efiVariableBoot]: 'boot entry',
    [EVENT.efiBootServicesApplication]: 'EFI program',
    [EVENT.efiGptEvent]: 'partition table',
    [EVENT.efiAction]: 'firmware step',
    [EVENT.efiVariableAuthority]: 'Secure Boot key',
  };
  return `${names[type] ?? `event 0x${type.toString(16)}`} in PCR ${pcr}`;
}
