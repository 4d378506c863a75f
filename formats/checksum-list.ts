/** One line of a file as `sha256sum` writes and checks it. */
export interface Checksum {
  sha256: string;
  name: string;
}

/** Sorted by name, so that equal files give equal lists. */
export function formatChecksums(files: readonly Checksum[]): string {
  const byName = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  return byName.map(({ sha256, name }) => `${sha256}  ${name}\n`).join('');
}

/** Lines of another form are left out. */
export function parseChecksums(text: string): Checksum[] {
  return [...text.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].map(([, sha256 = '', name = '']) => ({
    sha256,
    name,
  }));
}
