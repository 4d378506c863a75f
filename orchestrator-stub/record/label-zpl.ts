import type { Label } from '../../protocol/label.ts';

/** Dots of a label of 100 by 50 mm at 203 dots per inch, the common label printer. */
const WIDTH = 799;
const HEIGHT = 400;
const TEXT_LEFT = 330;
const TEXT_WIDTH = WIDTH - TEXT_LEFT - 20;

/** Labels in the language of Zebra printers: send it to the printer's port 9100 as it is. The printer draws the code itself. */
export function labelsZpl(labels: readonly Label[]): string {
  return labels.map(labelZpl).join('');
}

function labelZpl({ short, name, lines, url }: Label): string {
  const rows: [size: number, text: string][] = [
    [80, short],
    [36, name],
    ...lines.map((line): [number, string] => [26, line]),
  ];
  let top = 30;
  const fields = rows.map(([size, text]) => {
    const field = `^FO${TEXT_LEFT},${top}^A0N,${size},${size}^FB${TEXT_WIDTH},1,0,L^FH^FD${zplText(text)}^FS`;
    top += size + 12;
    return field;
  });
  // ^CI28: the texts are UTF-8. ^FH: _hh is a byte.
  return [
    '^XA',
    '^CI28',
    `^PW${WIDTH}`,
    `^LL${HEIGHT}`,
    `^FO20,30^BQN,2,6^FH^FDMA,${zplText(url)}^FS`,
    ...fields,
    '^XZ\n',
  ].join('\n');
}

/** Everything that could be a command of the printer, or an escape, is written as a byte; so are control characters. */
function zplText(text: string): string {
  return text.replace(/[\p{Cc}^~_\\]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `_${byte.toString(16).padStart(2, '0')}`).join(''),
  );
}
