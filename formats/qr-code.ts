import { generate, mode } from 'lean-qr';

/** Dark and light modules without the quiet zone. */
export interface QrCode {
  size: number;
  isDark(x: number, y: number): boolean;
}

export function encodeQr(text: string): QrCode {
  // Not the library's own choice of modes: it includes Kanji, and our Node carries no tables for that.
  const code = generate(text, { modes: [mode.ascii, mode.utf8] });
  return { size: code.size, isDark: (x, y) => code.get(x, y) };
}
