import type { QrCode } from '../../formats/qr-code.ts';

/** Two of the four light modules the standard asks for: enough for phones, and it fits a screen of 25 lines. */
const QUIET = 2;

/**
 * As text, two rows of modules per line. Consoles are light on dark, so the light modules are the drawn ones; the three block
 * characters are in every console font (code page 437).
 */
export function renderQr({ size, isDark }: QrCode): string[] {
  const isLight = (x: number, y: number) => !isDark(x, y);
  const lines: string[] = [];
  for (let y = -QUIET; y < size + QUIET; y += 2) {
    let line = '';
    for (let x = -QUIET; x < size + QUIET; x += 1) {
      const upper = isLight(x, y);
      const lower = y + 1 < size + QUIET && isLight(x, y + 1);
      line += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' ';
    }
    lines.push(line);
  }
  return lines;
}
