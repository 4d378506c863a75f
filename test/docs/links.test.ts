import { describe, expect, it } from 'vitest';
import { repositoryOf, thisRepository } from '../repository.ts';
import { brokenLinks } from './broken-links.ts';
import { anchorsOf, linksOf } from './markdown-page.ts';

it('every relative link and anchor in README, docs, CHANGELOG, CONTRIBUTING and SECURITY leads somewhere', () => {
  const repository = thisRepository();
  const pages = repository.files.filter((file) => /^(docs\/.*|[A-Z]+)\.md$/.test(file));
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/README.md']));
  expect(brokenLinks(repository, pages)).toEqual([]);
});

it('docs/README.md links to every page of docs', () => {
  const { files, read } = thisRepository();
  const linked = new Set(linksOf(read('docs/README.md')).map(({ target }) => `docs/${target}`));
  const pages = files.filter((file) => /^docs\/.*\.md$/.test(file) && file !== 'docs/README.md');
  expect(pages.filter((page) => !linked.has(page))).toEqual([]);
});

describe('the test of links', () => {
  const pages = {
    'README.md':
      '[docs](docs/a.md) [folder](docs/) [part](docs/a.md#two-words) [site](https://example.org/x)\n',
    'docs/a.md': '# A page\n\n## Two words\n\n[up](../README.md) [here](#two-words)\n',
  };
  const broken = (text: string) => brokenLinks(repositoryOf({ ...pages, 'docs/b.md': text }), ['docs/b.md']);

  it('lets good links pass', () => {
    expect(brokenLinks(repositoryOf(pages), Object.keys(pages))).toEqual([]);
  });

  it.each([
    ['a page that is not there', '[x](gone.md)', 'docs/b.md:1 gone.md: no such file'],
    ['a page above the root', '[x](../../README.md)', 'docs/b.md:1 ../../README.md: no such file'],
    ['a heading that is not there', '\n[x](a.md#three)', 'docs/b.md:2 a.md#three: no such heading'],
    ['a heading of this page', '[x](#gone)', 'docs/b.md:1 #gone: no such heading'],
    ['a picture', '![x](picture.svg)', 'docs/b.md:1 picture.svg: no such file'],
    ['a definition', '[x]\n\n[x]: gone.md', 'docs/b.md:3 gone.md: no such file'],
    ['an anchor of a folder', '[x](../docs/#a)', 'docs/b.md:1 ../docs/#a: only pages have anchors'],
  ])('finds %s', (_name, text, message) => {
    expect(broken(text)).toEqual([message]);
  });

  it('takes code for code', () => {
    expect(broken('`[x](gone.md)`\n\n```\n[y](gone.md)\n```\n')).toEqual([]);
  });

  it('makes anchors as GitHub does', () => {
    const text =
      "# EMF's `boot.ipxe`, 2nd – try\n\n## Same\n\n## Same\n\n```\n# no heading\n```\n\n### [A link](x.md)\n";
    expect([...anchorsOf(text)]).toEqual(['emfs-bootipxe-2nd--try', 'same', 'same-1', 'a-link']);
  });
});
