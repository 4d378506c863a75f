import path from 'node:path';

/** Every way in which one of our files names another: static and dynamic imports, and `new URL('./…')`. */
const IMPORT =
  /\b(?:from|import)\s*\(?\s*(['"])(\.{1,2}\/[^'"]*)\1|\bnew URL\(\s*(['"`])(\.{1,2}\/[^'"`]*)\3/g;

/** The files and folders, from the root of the repository, that a file of ours names in its code. */
export function findImports(file: string, text: string): string[] {
  return [...text.matchAll(IMPORT)]
    .map((match) => match[2] ?? match[4] ?? '')
    .filter((specifier) => !specifier.includes('${'))
    .map((specifier) => path.posix.join(path.posix.dirname(file), specifier));
}
