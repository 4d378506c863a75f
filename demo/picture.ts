import type { PrintedLine } from './output.ts';

const FONT_SIZE = 13;
const CHARACTER_WIDTH = 7.83; // of the monospace fonts browsers choose at this size
const LINE_HEIGHT = 19;
const PADDING = 16;
const TITLE_BAR = 30;
/** Waiting is not shown in full: the picture plays several times faster than the machine. */
const SPEED = 4;
const LONGEST_PAUSE_MS = 2500;

/** A run of the demo as an animated SVG: each line appears when it was printed, faster than it was. Pure. */
export function renderPicture(command: string, lines: readonly PrintedLine[]): string {
  const shown = [{ text: `$ ${command}`, atMs: lines[0]?.atMs ?? 0 }, ...lines];
  const delays = playbackDelays(shown);
  const columns = Math.max(60, ...shown.map(({ text }) => text.length));
  const width = Math.ceil(columns * CHARACTER_WIDTH + 2 * PADDING);
  const height = TITLE_BAR + shown.length * LINE_HEIGHT + 2 * PADDING;
  const texts = shown.map(({ text }, index) => {
    const y = TITLE_BAR + PADDING + (index + 0.8) * LINE_HEIGHT;
    const delay = ((delays[index] ?? 0) / 1000).toFixed(2);
    return `<text x="${PADDING}" y="${y.toFixed(1)}" style="animation-delay:${delay}s">${color(text)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    '<style>',
    `text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dae0;white-space:pre;`,
    'animation:appear .01s linear both}@keyframes appear{from{opacity:0}to{opacity:1}}',
    '.ok{fill:#7ec699}.warn{fill:#e8c07d}.dim{fill:#8b919c}.cmd{fill:#fff;font-weight:600}',
    '@media(prefers-reduced-motion:reduce){text{animation:none}}</style>',
    `<rect width="${width}" height="${height}" rx="8" fill="#1b1e24"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, index) => `<circle cx="${20 + index * 18}" cy="17" r="5.5" fill="${fill}"/>`,
    ),
    ...texts,
    '</svg>',
    '',
  ].join('\n');
}

/** When each line appears in the picture, in milliseconds. */
function playbackDelays(lines: readonly PrintedLine[]): number[] {
  let delay = 0;
  return lines.map((line, index) => {
    const pause = line.atMs - (lines[index - 1]?.atMs ?? line.atMs);
    delay += Math.min(pause / SPEED, LONGEST_PAUSE_MS);
    return delay;
  });
}

function color(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  if (text.startsWith('$')) return `<tspan class="cmd">${escaped}</tspan>`;
  if (text.startsWith('✔')) return `<tspan class="ok">✔</tspan>${escaped.slice(1)}`;
  if (/^\s+!/.test(text)) return `<tspan class="warn">${escaped}</tspan>`;
  if (/^\s+[…│]/.test(text)) return `<tspan class="dim">${escaped}</tspan>`;
  return escaped;
}
