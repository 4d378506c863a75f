import { ACTIVE, decodeLoadOption } from '../../formats/efi/load-option.ts';
import { bootEntryName, decodeEntryNumbers, EFI_GLOBAL_GUID } from '../../formats/efi/variables.ts';
import { guidAt, guidToBytes } from '../../formats/guid.ts';
import { KindlingError } from '../../protocol/error.ts';

export interface EfiVariable {
  name: string;
  /** Vendor GUID, lower case with dashes. */
  guid: string;
  attributes: number;
  data: Buffer;
}

export { EFI_GLOBAL_GUID };

// Layout: UEFI Platform Initialization specification 1.7, volume 3, 3.2.1 (firmware volume header); the variable
// store and variable headers are edk2's, MdeModulePkg/Include/Guid/VariableFormat.h.
const VOLUME_SIGNATURE_OFFSET = 40;
const VOLUME_HEADER_LENGTH_OFFSET = 48;
const AUTHENTICATED_STORE_GUID = 'aaf32c78-947b-439a-a180-2e144ec37792';
const STORE_HEADER = { sizeOffset: 16, length: 28 } as const;
const VARIABLE_START = 0x55aa;
const VARIABLE_HEADER = {
  state: 2,
  attributes: 4,
  nameSize: 36,
  dataSize: 40,
  guid: 44,
  length: 60,
} as const;
/** A state is a byte of flash: bits are cleared one after the other as a variable is added and deleted. */
const STATE_ADDED = 0x3f;
const STATE_ADDED_AND_BEING_DELETED = 0x3e;

/** Reads the variables out of an OVMF variable store (the file OVMF_VARS_4M.fd and what became of it). */
export function parseEfiVariables(store: Buffer): EfiVariable[] {
  const added = new Map<string, EfiVariable>();
  const beingDeleted = new Map<string, EfiVariable>();
  for (const { variable, state } of walk(store)) {
    const key = `${variable.guid}/${variable.name}`;
    if (state === STATE_ADDED) added.set(key, variable);
    if (state === STATE_ADDED_AND_BEING_DELETED) beingDeleted.set(key, variable);
  }
  // Power went between writing the new value and deleting the old one: the new one counts, if it is complete.
  return [...new Map([...beingDeleted, ...added]).values()];
}

/** The store with these variables as well, which it must not have yet: as a technician would set them in the firmware's menu. */
export function addEfiVariables(store: Buffer, variables: readonly EfiVariable[]): Buffer {
  const result = Buffer.from(store);
  let at = [...walk(store)].at(-1)?.next ?? firstVariable(store);
  for (const { name, guid, attributes, data } of variables) {
    const text = Buffer.from(`${name}\0`, 'utf16le');
    const header = Buffer.alloc(VARIABLE_HEADER.length);
    header.writeUInt16LE(VARIABLE_START);
    header.writeUInt8(STATE_ADDED, VARIABLE_HEADER.state);
    header.writeUInt32LE(attributes, VARIABLE_HEADER.attributes);
    header.writeUInt32LE(text.length, VARIABLE_HEADER.nameSize);
    header.writeUInt32LE(data.length, VARIABLE_HEADER.dataSize);
    guidToBytes(guid).copy(header, VARIABLE_HEADER.guid);
    at = aligned(at + Buffer.concat([header, text, data]).copy(result, at));
  }
  return result;
}

function* walk(store: Buffer): Generator<{ variable: EfiVariable; state: number; next: number }> {
  let at = firstVariable(store);
  const storeStart = at - STORE_HEADER.length;
  const end = storeStart + store.readUInt32LE(storeStart + STORE_HEADER.sizeOffset);
  while (at + VARIABLE_HEADER.length <= end && store.readUInt16LE(at) === VARIABLE_START) {
    const nameSize = store.readUInt32LE(at + VARIABLE_HEADER.nameSize);
    const dataSize = store.readUInt32LE(at + VARIABLE_HEADER.dataSize);
    const dataStart = at + VARIABLE_HEADER.length + nameSize;
    if (dataStart + dataSize > end) return; // the firmware is just writing this header: its sizes are still erased flash
    const variable = {
      name: store.toString('utf16le', at + VARIABLE_HEADER.length, dataStart).replace(/\0.*$/s, ''),
      guid: guidAt(store, at + VARIABLE_HEADER.guid),
      attributes: store.readUInt32LE(at + VARIABLE_HEADER.attributes),
      data: store.subarray(dataStart, dataStart + dataSize),
    };
    const next = aligned(dataStart + dataSize);
    yield { variable, state: store.readUInt8(at + VARIABLE_HEADER.state), next };
    at = next;
  }
}

function firstVariable(store: Buffer): number {
  if (store.toString('latin1', VOLUME_SIGNATURE_OFFSET, VOLUME_SIGNATURE_OFFSET + 4) !== '_FVH') {
    throw new KindlingError('KND_USAGE', 'this is not an OVMF variable store: no firmware volume header');
  }
  const storeStart = store.readUInt16LE(VOLUME_HEADER_LENGTH_OFFSET);
  const guid = guidAt(store, storeStart);
  if (guid !== AUTHENTICATED_STORE_GUID) {
    throw new KindlingError('KND_USAGE', `this OVMF variable store has the unknown format ${guid}`);
  }
  return storeStart + STORE_HEADER.length;
}

function aligned(offset: number): number {
  return (offset + 3) & ~3;
}

export interface BootEntry {
  number: number;
  description: string;
  isActive: boolean;
}

/** The boot entries in the order the firmware will try them. */
export function bootOrder(variables: readonly EfiVariable[]): BootEntry[] {
  const find = (name: string) =>
    variables.find((variable) => variable.name === name && variable.guid === EFI_GLOBAL_GUID);
  return decodeEntryNumbers(find('BootOrder')?.data).flatMap((number) => {
    const option = decodeLoadOption(find(bootEntryName(number))?.data ?? Buffer.alloc(0));
    if (!option) return [];
    const { description, attributes } = option;
    return { number, description, isActive: (attributes & ACTIVE) !== 0 };
  });
}
