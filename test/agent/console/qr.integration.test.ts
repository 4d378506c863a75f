import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderQr } from '../../../agent/console/qr.ts';
import { encodeQr } from '../../../formats/qr-code.ts';
import { run } from '../../../system/run.ts';

/** A picture of what the console shows: each character is one module wide and two high, drawn light on dark. */
function photograph(lines: readonly string[]): string {
  const SCALE = 6;
  const rows = lines.flatMap((line) => {
    const upper = [...line].map((char) => char === '█' || char === '▀');
    const lower = [...line].map((char) => char === '█' || char === '▄');
    return [upper, lower];
  });
  const pixels = rows.flatMap((row) => {
    const scaled = row.flatMap((isLight) => Array<string>(SCALE).fill(isLight ? '0' : '1')).join(' ');
    return Array<string>(SCALE).fill(scaled);
  });
  return `P1\n${(rows[0]?.length ?? 0) * SCALE} ${rows.length * SCALE}\n${pixels.join('\n')}\n`;
}

test.each([
  'kindling 0.1.0\nKND_NET_NO_LINK\nnode 4c4c4544-0033-3510-8052-b4c04f4d4d32\n52:54:00:00:00:01\nup 63s\nno link on eth0 for 60 s',
  'A',
  'with ümlauts and “quotes”',
])('a real reader reads the console’s QR code: %j', async (text) => {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-qr-'));
  try {
    const picture = join(folder, 'screen.pbm');
    await writeFile(picture, photograph(renderQr(encodeQr(text))));
    const { stdout } = await run('zbarimg', ['--quiet', '--raw', '--oneshot', '-Sbinary', picture]);
    expect(stdout.trimEnd()).toBe(text);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
