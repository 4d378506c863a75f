import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../protocol/error.ts';

const DOCS = join(import.meta.dirname, '../docs');

/** The folders of docs/ in the order in which people come to need them. */
const SECTIONS = [
  { folder: 'tutorial', heading: 'Learn it by doing' },
  { folder: 'how-to', heading: 'Get one thing done' },
  { folder: 'reference', heading: 'Look something up' },
  { folder: 'explanation', heading: 'Understand why it is so' },
  { folder: 'background', heading: 'The systems Kindling has to get along with' },
  { folder: 'decisions', heading: 'What was decided, and for what measured reason' },
] as const;

/** docs/README.md: every page by its title. */
export function docsIndexPage(): string {
  const sections = SECTIONS.map(({ folder, heading }) => {
    const pages = globSync('*.md', { cwd: join(DOCS, folder) }).sort();
    const lines = pages.map((page) => `- [${titleOf(join(DOCS, folder, page))}](${folder}/${page})`);
    return `## ${heading}\n\n${lines.join('\n')}\n`;
  });
  return `# Kindling's documentation

New here? [Your first node](tutorial/first-node.md) takes ten minutes. [The glossary](glossary.md) has one
word per thing; see also [contributing](../CONTRIBUTING.md) and [security](../SECURITY.md). This page is
made from the titles of the others (\`setup/docs-index.ts\`).

${sections.join('\n')}`;
}

function titleOf(file: string): string {
  const title = /^# (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1];
  if (title === undefined) throw new KindlingError('KND_UNEXPECTED', `${file} has no title`);
  return title;
}
