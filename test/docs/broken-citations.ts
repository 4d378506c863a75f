import type { Repository } from '../repository.ts';
import { anchorsOf, numbersBelow } from './markdown-page.ts';

/** Where the numbered traps and defects are, of which comments and test names speak. */
const TRAPS = { page: 'docs/background/emf.md', heading: 'Compatibility traps' };
const DEFECTS = { page: 'docs/background/k3s.md', heading: 'Defects of the EMT-S installer' };

/** A path of the repository's docs, wherever it is written: comments, hints of errors, templates. */
const DOCUMENT = /(?<![\w./-])(docs\/[\w./-]*\.md)(?:#([\w-]+))?/g;
/** Any other page, which only a comment cites: code may well have a file name of its own. */
const OTHER_PAGE = /(?<![\w./-])((?!docs\/)(?:[\w.-]+\/)*[\w-]+\.md)\b/g;
const COMMENT = /^\s*(?:\*|\/\*|\/\/|#)|\s\/\/\s/;
const DECISION = /\bdecisions? (\d{3})\b/gi;
const NUMBERED = /\b(trap|defect)s? (\d+)(?: and (\d+))?/gi;

/** Every citation in these files of something that the repository does not hold, as `file:line citation`. */
export function brokenCitations(repository: Repository, files: readonly string[]): string[] {
  const judge = judgeOf(repository);
  return files.flatMap((file) =>
    repository
      .read(file)
      .split('\n')
      .flatMap((line, index) => judge(line).map((citation) => `${file}:${index + 1} ${citation}`)),
  );
}

function judgeOf(repository: Repository): (line: string) => string[] {
  const files = new Set(repository.files);
  const decisions = new Set(
    repository.files.flatMap((file) => /^docs\/decisions\/(\d{3})-/.exec(file)?.[1] ?? []),
  );
  const anchors = new Map<string, Set<string>>();
  const hasAnchor = (page: string, anchor: string) => {
    const known = anchors.get(page) ?? anchorsOf(repository.read(page));
    anchors.set(page, known);
    return known.has(anchor);
  };
  const numbers = { trap: numbersOf(repository, TRAPS), defect: numbersOf(repository, DEFECTS) };

  return (line) => {
    const broken: string[] = [];
    for (const [citation, page = '', anchor] of line.matchAll(DOCUMENT))
      if (!files.has(page) || (anchor !== undefined && !hasAnchor(page, anchor))) broken.push(citation);
    if (COMMENT.test(line))
      for (const [, page = ''] of line.matchAll(OTHER_PAGE)) if (!files.has(page)) broken.push(page);
    for (const [citation, number = ''] of line.matchAll(DECISION))
      if (!decisions.has(number)) broken.push(citation);
    for (const [citation, kind = '', ...cited] of line.matchAll(NUMBERED)) {
      const known = kind.toLowerCase() === 'trap' ? numbers.trap : numbers.defect;
      if (cited.some((number) => number !== undefined && !known.has(Number(number)))) broken.push(citation);
    }
    return broken;
  };
}

function numbersOf(
  repository: Repository,
  { page, heading }: { page: string; heading: string },
): Set<number> {
  return repository.files.includes(page) ? numbersBelow(repository.read(page), heading) : new Set();
}
