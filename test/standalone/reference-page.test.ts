import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { publishedFiles } from '../../standalone/reference-page.ts';

test.each(
  publishedFiles().map(({ url, content }) => ({ name: url.pathname.replace(/.*\//, ''), url, content })),
)('docs/reference/$name is what `kindling standalone schema --publish` writes', ({ url, content }) => {
  expect(readFileSync(url, 'utf8')).toBe(content);
});
