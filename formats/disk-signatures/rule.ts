export interface SignatureMatch {
  /** As blkid names it. */
  type: string;
  label?: string;
  uuid?: string;
  /** Where the magic is, counted from the base. */
  magicAt: number;
  magicBytes: number;
}

/** One kind of superblock: where it may lie on a device of some size, how much of it to read, how to recognize it. */
export interface SignatureRule {
  /** Offsets of possible superblocks, backups included. */
  bases: (sizeBytes: number) => number[];
  length: number;
  match: (block: Buffer, base: number) => SignatureMatch | undefined;
}

export const atStart = () => [0];

export function hasMagic(block: Buffer, at: number, magic: string | readonly number[]): boolean {
  const bytes = typeof magic === 'string' ? Buffer.from(magic, 'latin1') : Buffer.from(magic);
  return block.subarray(at, at + bytes.length).equals(bytes);
}

/** 16 bytes as 8-4-4-4-12; undefined when all zero, which means "not set" everywhere. */
export function uuidAt(block: Buffer, at: number): { uuid?: string } {
  const hex = block.subarray(at, at + 16).toString('hex');
  if (hex.length < 32 || /^0+$/.test(hex)) return {};
  return {
    uuid: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
  };
}

/** Text up to the first NUL, without padding; control characters would garble a console and are dropped. */
export function textAt(block: Buffer, at: number, length: number): string {
  const raw = block.subarray(at, at + length);
  const end = raw.indexOf(0);
  const text = (end < 0 ? raw : raw.subarray(0, end)).toString('utf8');
  return [...text]
    .filter((char) => char >= ' ' && char !== '\x7f' && char !== '\ufffd')
    .join('')
    .trim();
}

export function labelAt(block: Buffer, at: number, length: number): { label?: string } {
  const label = textAt(block, at, length);
  return label ? { label } : {};
}
