import { damaged } from './errors.ts';

/** Maximum uncompressed size of a chunk (compressed: 64 KiB). */
export const MAX_CHUNK_OUTPUT = 2 * 1024 * 1024;

/** What stands before the data of a chunk; xz-file-format 5.3.1 leaves it to the reference, whose names these are. */
export interface ChunkHeader {
  control: number;
  properties: number;
  inputLength: number;
  outputLength: number;
}

const COMPRESSED = 0x80;
const RESETS_STATE = 0xa0;
const HAS_PROPERTIES = 0xc0;
const RESETS_DICTIONARY = 0xe0;
const PLAIN_AND_RESETS_DICTIONARY = 1;
const PLAIN = 2;

export const resetsDictionary = (control: number) =>
  control >= RESETS_DICTIONARY || control === PLAIN_AND_RESETS_DICTIONARY;

/** How long the header is that begins with this control byte. */
export function chunkHeaderBytes(control: number): number {
  if (control >= COMPRESSED) return control >= HAS_PROPERTIES ? 6 : 5;
  if (control > PLAIN) throw damaged('a chunk is of an unknown kind');
  return 3;
}

/** Reads the headers of one block's chunks, and sees to it that none needs what was not given before. */
export class ChunkHeaders {
  #needsDictionary = true;
  #needsProperties = true;

  read(bytes: Buffer): ChunkHeader {
    const control = bytes.readUInt8(0);
    if (resetsDictionary(control)) {
      this.#needsDictionary = false;
      this.#needsProperties = true;
    } else if (this.#needsDictionary) {
      throw damaged('a block begins in the middle');
    }
    if (control < COMPRESSED) {
      const length = bytes.readUInt16BE(1) + 1;
      return { control, properties: 0, inputLength: length, outputLength: length };
    }
    if (control >= HAS_PROPERTIES) this.#needsProperties = false;
    else if (this.#needsProperties) throw damaged('a chunk lacks its properties');
    return {
      control,
      properties: control >= HAS_PROPERTIES ? goodProperties(bytes.readUInt8(5)) : 0,
      inputLength: bytes.readUInt16BE(3) + 1,
      outputLength: ((control & (RESETS_STATE - COMPRESSED - 1)) << 16) + bytes.readUInt16BE(1) + 1,
    };
  }
}

/** lc + 9 (lp + 5 pb); LZMA2 allows four bits for lc and lp together. */
function goodProperties(properties: number): number {
  const lc = properties % 9;
  const lp = Math.floor(properties / 9) % 5;
  if (properties >= 9 * 5 * 5 || lc + lp > 4) throw damaged('a chunk has impossible properties');
  return properties;
}
