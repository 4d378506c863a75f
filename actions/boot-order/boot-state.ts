import { decodeLoadOption, type LoadOption } from '../../formats/efi/load-option.ts';
import { decodeEntryNumbers } from '../../formats/efi/variables.ts';
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
  const [current] = decodeEntryNumbers(await variables.read('BootCurrent'));
  const [next] = decodeEntryNumbers(await variables.read('BootNext'));
  return { order: decodeEntryNumbers(await variables.read('BootOrder')), current, next, entries };
}
