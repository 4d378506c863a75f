import type { Label } from '../../protocol/label.ts';

const STYLE = `
@page { size: 100mm 50mm; margin: 0 }
body { margin: 0; font: 3.2mm/1.3 sans-serif; color: #000; background: #fff }
article { box-sizing: border-box; width: 100mm; height: 50mm; padding: 4mm; display: flex; gap: 4mm; break-after: page; overflow: hidden }
svg { width: 40mm; height: 40mm; flex: none }
div { min-width: 0; overflow-wrap: anywhere }
h1 { font-size: 10mm; line-height: 1; margin: 0 }
h2 { font-size: 4.5mm; margin: 1mm 0 2mm }
p { margin: 0 }
`;

/** A document for the printer, one label of 100 by 50 mm per page; it needs nothing from elsewhere. */
export function labelsHtml(labels: readonly Label[]): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Labels</title><style>${STYLE}</style></head>
<body>
${labels.map(article).join('\n')}
</body>
</html>
`;
}

function article({ short, name, lines, url, qr }: Label): string {
  const facts = lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('');
  return `<article>${qrSvg(qr, url)}<div><h1>${escapeHtml(short)}</h1><h2>${escapeHtml(name)}</h2>${facts}</div></article>`;
}

function qrSvg({ side, path }: Label['qr'], text: string): string {
  return `<svg viewBox="0 0 ${side} ${side}" role="img" aria-label="${escapeHtml(text)}" shape-rendering="crispEdges"><path d="${path}"/></svg>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
