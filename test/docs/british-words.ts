import type { Repository } from '../repository.ts';

/** British spellings and what they are here. Stems, because words of code have other words on both sides. */
const BRITISH: readonly (readonly [RegExp, string])[] = [
  [
    /(?:normal|initial|recogn|serial|author|synchron|optim|summar|random|sanit|organ|minim|maxim|custom|special|general|real|util|final|priorit|standard|visual|material|capital|virtual|container|categor|local|memor|token|parametr|stabil)is(?:e|ing|ation|able)/gi,
    '-ize',
  ],
  [/analys(?:e|ing)/gi, 'analyze'],
  [/artefact/gi, 'artifact'],
  [/enrol(?!l)/gi, 'enroll'],
  [/(?:behavi|col|hon|fav|flav|lab|neighb|harb)our/gi, '-or'],
  [/licen[c]e/gi, 'license'],
  [/(?:defen|offen|preten)ce/gi, '-ense'],
  [/(?:canc|lab|trav|mod|sign|chann|lev|pan|fu|tunn)[ae]ll(?:ed|ing|er)/gi, 'one l'],
  [/catalogue/gi, 'catalog'],
  [/\bgrey/gi, 'gray'],
  [/\b(?:centre|fibre|metre|litre)/gi, '-er'],
  [/(?:misspe|lear|bur|spe|drea)(?:lt|nt|mt)\b/gi, '-ed'],
  [/acknowledgement|judgement/gi, '-gment'],
  [/towards/gi, 'toward'],
  [/\b(?:whilst|amongst)\b/gi, 'while, among'],
  [/\bprogramme\b/gi, 'program'],
  // One word only where it is a name in code: rootio's JSON, ours, and folders of the kernel's documentation.
  [/(?<![\w./`{-])filesystems?(?=[ ;,."'’)?`]|$)(?!\.\w)(?! [}=])(?!`)/gim, 'file system'],
];

/** What keeps its letters, and why. */
const KEPT: readonly { text: RegExp; why: string }[] = [
  { text: /\b(?:KND|KINDLING)_[A-Z_]+/g, why: 'error codes and variables of actions: workflows have them' },
  { text: /\bKindlingNeighboursUrl\b/g, why: 'a name that templates refer to' },
  { text: /\bCANCELLED\b/g, why: 'a state of workflows that is stored and sent; a status of gRPC' },
  { text: /'cancelled'/g, why: 'the status of a result (docs/reference/console.md); an event of grpc-js' },
  {
    text: /\bdeauthorise(?:Node)?['"`]|\/deauthorise\b/g,
    why: 'a path and operation of the API; the old command',
  },
  {
    text: /\/neighbours\b|'(?:announceNeighbour|leaveNeighbours)'/g,
    why: 'a path and operations of the API',
  },
  {
    text: /(?<=\.)neighbours\b|\bneighbours\b(?=['"`]|\??: )/g,
    why: 'a field of the API (the site’s setting, the answer to a node)',
  },
  { text: /\bfromNeighbours\b/g, why: 'a field in the result of image2disk' },
  { text: /\bNEIGHBOUR_CMD\b/g, why: 'a switch of the iPXE build' },
  { text: /\bFibre Channel/g, why: 'a name' },
  { text: /"enrolment"|`NEIGHBOUR`/g, why: 'the glossary says what is no longer written' },
];

const TEXT = /\.(?:ts|mjs|md|yaml|sh|c|h|ipxe|cfg|html|css|proto)$|(?:^|\/)init$/;

/** Every British spelling in these files and in their names, as `file:line word (what it is here)`. */
export function britishWords(repository: Repository, files: readonly string[]): string[] {
  return files.flatMap((file) => [
    ...wordsIn(file).map(({ word }) => `${file} ${word}`),
    ...wordsIn(TEXT.test(file) ? repository.read(file) : '').map(
      ({ line, word }) => `${file}:${line} ${word}`,
    ),
  ]);
}

function wordsIn(text: string): { line: number; word: string }[] {
  const judged = KEPT.reduce((rest, kept) => rest.replaceAll(kept.text, ''), text);
  return BRITISH.flatMap(([british, here]) =>
    [...judged.matchAll(british)].map((found) => ({
      line: judged.slice(0, found.index).split('\n').length,
      word: `${found[0]} (${here})`,
    })),
  );
}
