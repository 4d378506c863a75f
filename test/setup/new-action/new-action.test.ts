import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkName, withCatalogLine, withConformanceLine } from '../../../setup/new-action/new-action.ts';
import { actionText, testText } from '../../../setup/new-action/skeleton.ts';

const NAMES = { name: 'hello-disk', variable: 'helloDisk' };

it('an action is named in workflows as in files, and in the code as its language does', () => {
  expect(checkName('hello-disk', [])).toEqual(NAMES);
  expect(checkName('raid2disk', [])).toEqual({ name: 'raid2disk', variable: 'raid2disk' });
});

it.each([
  ['', 'is no name for an action'],
  ['Hello', 'is no name for an action'],
  ['../x', 'is no name for an action'],
  ['hello_disk', 'is no name for an action'],
  ['image2disk', 'there is an action image2disk already'],
])('the name “%s” is refused: %s', (name, reason) => {
  expect(() => checkName(name, ['image2disk'])).toThrow(reason);
});

it('the line of the catalog comes after the last one, its import to the others', () => {
  const catalog =
    "import { a } from './a/a.ts';\n\n/** All. */\nexport const CATALOG: readonly Action[] = [\n  a,\n];\n\nconst OTHER = [\n  a,\n];\n";
  expect(withCatalogLine(catalog, NAMES)).toBe(
    "import { a } from './a/a.ts';\nimport { helloDisk } from './hello-disk/hello-disk.ts';\n\n/** All. */\nexport const CATALOG: readonly Action[] = [\n  a,\n  helloDisk,\n];\n\nconst OTHER = [\n  a,\n];\n",
  );
});

it('the line of the table of tests comes last', () => {
  expect(withConformanceLine('const TESTS: X = {\n  a: { b: c },\n};\nconst y = {\n};\n', 'hello-disk')).toBe(
    "const TESTS: X = {\n  a: { b: c },\n  'hello-disk': { killed: changesNothing, again: changesNothing },\n};\nconst y = {\n};\n",
  );
});

it('a list that looks otherwise is an error, not a file without the line', () => {
  expect(() => withConformanceLine('const x = 1;\n', 'a')).toThrow('is not where it was');
});

const page = readFileSync(new URL('../../../docs/how-to/develop-an-action.md', import.meta.url), 'utf8');

it('the how-to page shows the very action and test that are made', () => {
  expect(page).toContain(`\`\`\`ts\n${actionText(NAMES)}\`\`\``);
  expect(page).toContain(`\`\`\`ts\n${testText(NAMES)}\`\`\``);
});

it('what the how-to page says to call is in the file that it names', () => {
  const rows = [...page.matchAll(/^\| [^|]+ \| (`[^|]+) \| `(\S+\.ts)` +\|$/gm)];
  expect(rows.length).toBeGreaterThan(15);
  for (const [, calls = '', file = ''] of rows) {
    const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
    for (const [, called = ''] of calls.matchAll(/`(?:context\.)?(\w+)`/g))
      expect(text, file).toMatch(new RegExp(`\\b${called}\\b`));
  }
});
