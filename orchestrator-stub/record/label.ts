import { encodeQr } from '../../formats/qr-code.ts';
import type { Label } from '../../protocol/label.ts';
import { lastSixOf } from '../../protocol/last-six.ts';
import type { ShippingRecord } from '../../protocol/shipping-record.ts';

/** Light modules that the standard asks for around a code. */
const QUIET = 4;

export function labelOf({ node, system, outcome }: ShippingRecord, origin: string): Label {
  const identity = node.serial ?? node.macs[0] ?? node.id;
  const url = `${origin}/nodes/${encodeURIComponent(node.id)}`;
  return {
    short: lastSixOf(identity),
    name: node.name,
    lines: [
      `S/N ${node.serial ?? '-'}`,
      `MAC ${node.macs[0] ?? '-'}`,
      ...(system.profile ? [`${system.profile}, generation ${system.generation}`] : []),
      outcome.verdict === 'done' ? `Done ${dayAndMinute(system.firstBootAt)}` : `NOT DONE: ${outcome.status}`,
    ],
    url,
    qr: drawQr(url),
  };
}

function dayAndMinute(time: string | null): string {
  return time === null ? '' : `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

function drawQr(text: string): Label['qr'] {
  const { size, isDark } = encodeQr(text);
  const all = Array.from({ length: size * size }, (_, at) => ({ x: at % size, y: Math.floor(at / size) }));
  const path = all
    .filter(({ x, y }) => isDark(x, y))
    .map(({ x, y }) => `M${x + QUIET} ${y + QUIET}h1v1h-1z`)
    .join('');
  return { side: size + 2 * QUIET, path };
}
