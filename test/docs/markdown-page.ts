/** A link of a page, with the line it is in, counted from 1. */
export interface Link {
  target: string;
  line: number;
}

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;
/** `[text](target)` and `![text](target "title")`. */
const INLINE_LINK = /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
/** `[name]: target`. */
const LINK_DEFINITION = /^\s*\[[^\]]+\]:\s+(\S+)/;

/** The anchors that GitHub gives to the headings of a page. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const { text } of proseLines(markdown)) {
    const heading = HEADING.exec(text)?.[1];
    if (heading === undefined) continue;
    const plain = slug(heading);
    let anchor = plain;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${plain}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

export function linksOf(markdown: string): Link[] {
  return proseLines(markdown).flatMap(({ text, line }) => {
    const prose = text.replaceAll(/`[^`]*`/g, '');
    const targets = [...prose.matchAll(INLINE_LINK)].map((match) => match[1] ?? '');
    const defined = LINK_DEFINITION.exec(prose)?.[1];
    return [...targets, ...(defined === undefined ? [] : [defined])].map((target) => ({ target, line }));
  });
}

/** The numbers of the numbered list below a heading. */
export function numbersBelow(markdown: string, heading: string): Set<number> {
  const numbers = new Set<number>();
  let isBelow = false;
  for (const { text } of proseLines(markdown)) {
    const found = HEADING.exec(text)?.[1];
    if (found !== undefined) isBelow = found === heading;
    const number = /^(\d+)\. /.exec(text)?.[1];
    if (isBelow && number !== undefined) numbers.add(Number(number));
  }
  return numbers;
}

/** The lines of a page that are in no code block. */
export function proseLines(markdown: string): { text: string; line: number }[] {
  let isCode = false;
  return markdown.split('\n').flatMap((text, index) => {
    if (FENCE.test(text)) {
      isCode = !isCode;
      return [];
    }
    return isCode ? [] : [{ text, line: index + 1 }];
  });
}

/** GitHub's rule: links become their text; lower case; only letters, digits, spaces, `-` and `_` stay; spaces become `-`. */
function slug(heading: string): string {
  return heading
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}
