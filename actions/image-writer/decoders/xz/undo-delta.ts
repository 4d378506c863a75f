import type { Undo } from './filters.ts';

/** xz-file-format 5.3.3: each byte is the difference to the one `distance` bytes before it; before the first there are zeros. */
export function undoDelta(distance: number): Undo {
  const last = new Uint8Array(distance);
  let at = 0;
  return (bytes) => {
    for (let i = 0; i < bytes.length; i += 1) {
      const value = ((bytes[i] ?? 0) + (last[at] ?? 0)) & 0xff;
      bytes[i] = value;
      last[at] = value;
      at = at + 1 === distance ? 0 : at + 1;
    }
    return bytes.length;
  };
}
