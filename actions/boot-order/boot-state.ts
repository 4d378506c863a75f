import { decodeLoadOption, type LoadOption } from '../../formats/efi/load-option.ts';
import type { EfiVariables } from './efi-variables.ts';

/** What the firmware's boot manager knows. Entry numbers as in Boot001A. */
export interface BootState {
  order: number[];
  current: number | undefined;
  next: number | undefined;
  entries: Map<number, LoadOption>;
}

export async function readBootState(variables: EfiVariables): Promise<BootState> {
  const entries = new Map<number, LoadOption>();
  for (const name of await variables.names()) {
    const number = /^Boot([0-9A-F]{4})$/.exec(name)?.[1];
    const option =
      number === undefined ? undefined : decodeLoadOption((await variables.read(name)) ?? Buffer.alloc(0));
    if (number !== undefined && option) entries.set(Number.parseInt(number, 16), option);
  }
  const [current] = decodeNumbers(await variables.read('BootCurrent'));
  const [next] = decodeNumbers(await variables.read('BootNext'));
  return { order: decodeNumbers(await variables.read('BootOrder')), current, next, entries };
}

export function entryName(number: number): string {
  return `Boot${number.toString(16).toUpperCase().padStart(4, '0')}`;
}

export function encodeNumbers(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 2);
  for (const [index, number] of numbers.entries()) bytes.writeUInt16LE(number, index * 2);
  return bytes;
}

function decodeNumbers(bytes: Buffer | undefined): number[] {
  const count = Math.floor((bytes?.length ?? 0) / 2);
  return Array.from({ length: count }, (_, index) => bytes?.readUInt16LE(index * 2) ?? 0);
}
