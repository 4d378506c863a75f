import { FOLDERS } from '../../setup/folders.ts';

/** Data that code may read from any folder: the reference pages it writes, and the version. */
const DATA = ['docs', 'package.json', 'node_modules', 'build'];

/** What is wrong with an import, or undefined if the table of folders allows it. */
export function judgeImport(from: string, to: string): string | undefined {
  const [importer = '', imported = ''] = [from, to].map((file) => file.split('/')[0] ?? '');
  if (importer === imported || !from.includes('/') || DATA.includes(imported) || !to.includes('/'))
    return undefined;
  const folder = FOLDERS.find(({ name }) => name === importer);
  if (!folder) return `${from}: the folder ${importer}/ is not in setup/folders.ts`;
  if (folder.mayImport.includes(imported)) return undefined;
  return `${from} imports ${to}: ${importer}/ may not import ${imported}/`;
}
