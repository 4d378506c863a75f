import type { Decoder } from './decoder.ts';
import { Crew } from './xz/crew.ts';
import { decodeFile } from './xz/decode-file.ts';

/** xz by a decoder of our own, on all cores where the file has several blocks; its hot loops are WebAssembly (xz/machine). */
export const decodeXz: Decoder = async (input, output) => {
  const crew = new Crew();
  try {
    await decodeFile(crew, input, output);
  } finally {
    await crew.stop();
  }
};
