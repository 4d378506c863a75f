import { encodeQr } from '../../formats/qr-code.ts';
import type { ErrorReport } from '../../protocol/error.ts';
import { renderQr } from './qr.ts';

export interface FatalFacts {
  report: ErrorReport;
  nodeId?: string | undefined;
  mac?: string | undefined;
  version: string;
  uptime: number;
  /** What happens next, for the last lines: "trying again in 30 s". */
  next: string;
}

/** As much as fits QR version 6 with the least error correction: 45 × 45 with its margin, 23 lines. */
const QR_BYTES = 134;
const SCREEN_COLUMNS = 80;

/** What the QR code says: enough for a person who gets a photo of it to know what failed and where. */
export function qrText({ report, nodeId, mac, version, uptime }: FatalFacts): string {
  const text = [
    `kindling ${version.split(' ')[0]}`,
    report.code,
    ...(nodeId ? [`node ${nodeId}`] : []),
    ...(mac ? [mac] : []),
    `up ${Math.round(uptime)}s`,
    report.message,
  ];
  // Plain ASCII: one byte each, and no encoding header that some readers stumble over.
  return text
    .join('\n')
    .replaceAll('’', "'")
    .replaceAll(/[^\n\x20-\x7e]/g, '?')
    .slice(0, QR_BYTES);
}

/** The screen that stays after a fatal error: the QR code on the left, code, reason and next step beside it. Fits 80 × 25. */
export function fatalScreen(facts: FatalFacts): string {
  const code = renderQr(encodeQr(qrText(facts)));
  const width = SCREEN_COLUMNS - (code[0]?.length ?? 0) - 3;
  const { report } = facts;
  const head = ['This node needs help.', '', report.code, ''];
  const reason = [
    ...report.message.split('\n').flatMap((line) => wrap(line, width)),
    ...report.causes.slice(0, 2).flatMap((cause) => wrap(`because: ${cause}`, width)),
  ];
  const hint = ['', ...wrap(`Next: ${report.hint}`, width)];
  const foot = ['', ...(facts.nodeId ? wrap(`node ${facts.nodeId}`, width) : []), ...wrap(facts.next, width)];
  // Without its last lines nobody knows which key to press; a long reason is in the QR code and the log as well.
  const room = code.length - head.length - foot.length;
  const text = [...head, ...shorten(reason, hint, room), ...foot];
  return code.map((line, index) => `${line}  ${text[index] ?? ''}`.trimEnd()).join('\n');
}

/** As many lines as there is room for: the hint keeps up to half of it, the reason gets the rest. */
function shorten(reason: string[], hint: string[], room: number): string[] {
  if (reason.length + hint.length <= room) return [...reason, ...hint];
  const forHint = Math.min(hint.length, Math.max(Math.floor(room / 2), room - reason.length));
  return [...cut(reason, room - forHint), ...cut(hint, forHint)];
}

function cut(lines: string[], count: number): string[] {
  return lines.length <= count ? lines : [...lines.slice(0, Math.max(count - 1, 0)), '…'];
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text
    .split(/\s+/)
    .flatMap((part) => part.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [])) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
