import path from 'node:path';
import type { Repository } from '../repository.ts';
import { anchorsOf, linksOf } from './markdown-page.ts';

/** Links to other places are somebody else's to keep. */
const ELSEWHERE = /^[a-z][a-z0-9+.-]*:/i;

/** Every relative link of these pages that leads nowhere, as `page:line target: why`. */
export function brokenLinks(repository: Repository, pages: readonly string[]): string[] {
  const files = new Set(repository.files);
  const folders = new Set(repository.files.flatMap(foldersOf));
  return pages.flatMap((page) =>
    linksOf(repository.read(page))
      .filter(({ target }) => !ELSEWHERE.test(target))
      .flatMap(({ target, line }) => {
        const [relative = '', anchor] = target.split('#');
        const file = relative === '' ? page : path.posix.join(path.posix.dirname(page), decodeURI(relative));
        const place = file.replace(/\/$/, '');
        if (!files.has(place) && !folders.has(place)) return [`${page}:${line} ${target}: no such file`];
        if (anchor === undefined) return [];
        if (!place.endsWith('.md')) return [`${page}:${line} ${target}: only pages have anchors`];
        if (anchorsOf(repository.read(place)).has(anchor)) return [];
        return [`${page}:${line} ${target}: no such heading`];
      }),
  );
}

function foldersOf(file: string): string[] {
  const folder = path.posix.dirname(file);
  return folder === '.' ? ['.'] : [folder, ...foldersOf(folder)];
}
