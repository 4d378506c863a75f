import { createHash } from 'node:crypto';
import { whyJunkText, whyJunkUuid } from '../../formats/junk-identity.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Identity, IdentityEvidence } from '../../protocol/identity.ts';
import { toNodeId } from '../../protocol/ids.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { readBootMac } from './boot-nic.ts';
import { type FirmwareTells, readFirmwareTells } from './firmware-tells.ts';
import { isLocallyAdministered, type PhysicalNic, physicalNics } from './physical-nics.ts';
import { swapUuid } from './smbios/system-information.ts';

/** Who this machine is. The rules and their reasons: docs/explanation/identity.md. */
export function identify(
  files: MachineFiles,
  kernelArguments: KernelArguments,
  given: GivenIdentity = {},
): Identity {
  return decideIdentity(
    readFirmwareTells(files),
    physicalNics(files),
    readBootMac(files, kernelArguments),
    given,
  );
}

/** What the configuration says that this machine is: `--uuid`, `--serial`, `--mac`, `--worker-id`. */
export interface GivenIdentity {
  uuid?: string | undefined;
  serial?: string | undefined;
  mac?: string | undefined;
  workerId?: string | undefined;
}

/** Pure: judges every fact, derives the node id from the best. */
export function decideIdentity(
  tells: FirmwareTells,
  nics: readonly PhysicalNic[],
  bootMac: string | undefined,
  given: GivenIdentity = {},
): Identity {
  const found = weighEvidence(tells, nics, bootMac);
  // Only where the machine itself tells nothing: a word in a boot script must not make a known machine another one.
  const evidence = found[0]?.score ? found : [...weighGiven(given), ...found];
  const best = evidence[0];
  if (!best || best.score === 0) {
    throw new KindlingError(
      'KND_IDENTITY_NONE',
      'this machine has no usable UUID, serial number or MAC address: nothing tells it from others',
      { evidence: { rejected: evidence } },
    );
  }
  const accepted = (field: IdentityEvidence['field']) =>
    evidence.find((entry) => entry.field === field && entry.score > 0)?.value;
  const uuid = accepted('uuid');
  const serial = accepted('serial');
  const manufacturer = meaningful(tells.manufacturer);
  const product = meaningful(tells.product);
  const macs = orderedMacs(nics, bootMac);
  return {
    ...(uuid ? { uuid, uuidAlias: swapUuid(uuid) } : {}),
    ...(serial ? { serial } : {}),
    ...(manufacturer ? { manufacturer } : {}),
    ...(product ? { product } : {}),
    macs,
    ...(bootMac ? { bootMac } : {}),
    nodeId: toNodeId(deriveNodeId(best, manufacturer, product)),
    evidence,
  };
}

/** Best first. Score 0 is rejected; the reason says why, or what lowers the trust. */
function weighEvidence(
  tells: FirmwareTells,
  nics: readonly PhysicalNic[],
  bootMac: string | undefined,
): IdentityEvidence[] {
  const entries: IdentityEvidence[] = [];
  const junkUuid = whyJunkUuid(tells.uuid);
  entries.push({
    field: 'uuid',
    value: tells.uuid ?? '',
    score: junkUuid ? 0 : 100,
    reason: junkUuid ?? 'SMBIOS system UUID',
  });
  const isRepeated = tells.serial !== undefined && tells.serial === tells.boardSerial;
  entries.push(
    weighSerial(
      'serial',
      tells.serial,
      isRepeated ? 60 : 80,
      isRepeated ? 'same as the board’s' : 'system serial number',
    ),
  );
  entries.push(weighSerial('board-serial', tells.boardSerial, 50, 'board serial number'));
  entries.push(weighSerial('chassis-serial', tells.chassisSerial, 40, 'chassis serial number'));
  for (const { mac, permanentMac } of nics) {
    const value = permanentMac ?? mac;
    const isBootNic = bootMac !== undefined && (bootMac === mac || bootMac === permanentMac);
    const note = isBootNic ? ', the machine booted from it' : '';
    if (isLocallyAdministered(value))
      entries.push({ field: 'mac', value, score: 10, reason: `set by software${note}` });
    else if (permanentMac)
      entries.push({ field: 'mac', value, score: 30, reason: `burned into the card${note}` });
    else entries.push({ field: 'mac', value, score: 20, reason: `not known to be the card’s own${note}` });
  }
  // The lowest address wins among equals: which NIC booted may change with a cable, the set of cards rarely does.
  return entries.sort(
    (a, b) => b.score - a.score || (a.field === 'mac' && b.field === 'mac' ? compare(a.value, b.value) : 0),
  );
}

/** A machine without firmware tables and network cards: a container, a board, a virtual machine with a tunnel. */
function weighGiven({ uuid, serial, mac, workerId }: GivenIdentity): IdentityEvidence[] {
  const fields = [
    { field: 'uuid', value: uuid?.toLowerCase() },
    { field: 'serial', value: serial },
    { field: 'mac', value: mac ?? workerId },
  ] as const;
  return fields.flatMap(({ field, value }) =>
    value ? [{ field, value, score: 1, reason: 'given by the configuration' }] : [],
  );
}

function weighSerial(
  field: IdentityEvidence['field'],
  value: string | undefined,
  score: number,
  reason: string,
): IdentityEvidence {
  const junk = whyJunkText(value) ?? ((value ?? '').length < 3 ? 'too short' : undefined);
  return { field, value: value ?? '', score: junk ? 0 : score, reason: junk ?? reason };
}

/** A good UUID is the node id itself; anything else is hashed into the shape of one (RFC 9562 version 8). */
function deriveNodeId(best: IdentityEvidence, manufacturer = '', product = ''): string {
  if (best.field === 'uuid') return best.value;
  const source = best.field === 'mac' ? ['mac', best.value] : [best.field, manufacturer, product, best.value];
  const hash = createHash('sha256')
    .update(['kindling-node-1', ...source].join('\0'))
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x80, 6); // version 8
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8); // variant
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function orderedMacs(nics: readonly PhysicalNic[], bootMac: string | undefined): string[] {
  const isBoot = ({ mac, permanentMac }: PhysicalNic) => mac === bootMac || permanentMac === bootMac;
  const ordered = [...nics.filter(isBoot), ...nics.filter((nic) => !isBoot(nic))];
  return [...new Set(ordered.map(({ mac, permanentMac }) => permanentMac ?? mac))];
}

function meaningful(text: string | undefined): string | undefined {
  return whyJunkText(text) ? undefined : text;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
