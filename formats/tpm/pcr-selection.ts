import { type FieldReader, u8, u16, u32 } from './fields.ts';

/** Part 2, 10.6.2 TPMS_PCR_SELECTION: which registers of one bank. */
export interface PcrSelection {
  hash: number;
  pcrs: number[];
}

/** 24 registers, as PC Client platforms have. */
const BITMAP_SIZE = 3;
/** Part 2, 10.9.7: a TPM has at most 16 banks. */
const MOST_BANKS = 16;

/** Part 2, 10.9.7 TPML_PCR_SELECTION */
export function encodePcrSelection(selections: readonly PcrSelection[]): Buffer {
  return Buffer.concat([
    u32(selections.length),
    ...selections.flatMap(({ hash, pcrs }) => {
      const bitmap = Buffer.alloc(BITMAP_SIZE);
      for (const pcr of pcrs) bitmap.writeUInt8(bitmap.readUInt8(pcr >> 3) | (1 << (pcr & 7)), pcr >> 3);
      return [u16(hash), u8(BITMAP_SIZE), bitmap];
    }),
  ]);
}

export function decodePcrSelection(fields: FieldReader): PcrSelection[] {
  const count = fields.u32();
  if (count > MOST_BANKS) throw fields.fault('selects more banks of registers than a TPM has');
  return Array.from({ length: count }, () => {
    const hash = fields.u16();
    const bitmap = fields.take(fields.u8());
    const pcrs = Array.from({ length: bitmap.length * 8 }, (_, pcr) => pcr);
    return { hash, pcrs: pcrs.filter((pcr) => ((bitmap[pcr >> 3] ?? 0) >> (pcr & 7)) & 1) };
  });
}
