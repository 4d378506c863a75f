import { expect, it } from 'vitest';
import { thisRepository } from '../repository.ts';
import { unmarkedBlocks } from './unmarked-blocks.ts';

it('every command block of tutorials and how-to pages says whether it can be run as it stands', () => {
  const { files, read } = thisRepository();
  const pages = files.filter((file) => /^docs\/(tutorial|how-to)\/.*\.md$/.test(file));
  expect(pages.length).toBeGreaterThan(10);
  expect(pages.flatMap((page) => unmarkedBlocks(read(page)).map((fault) => `${page}:${fault}`))).toEqual([]);
});

it.each([
  ['```\nnpm test\n```', ['1: say what the block is']],
  ['```sh\nnpm test\n```', ['1: say whether it can be run']],
  ['text\n```console not-run:\n$ x\n```', ['2: say whether it can be run']],
  ['```sh runnable\nnpm test\n```\n```console runnable long background\n$ x\n```', []],
  ['```sh not-run: needs a stick\nnpm test\n```\n```yaml\na: b\n```', []],
])('%j', (page, faults) => {
  expect(unmarkedBlocks(page)).toEqual(faults.map((fault) => expect.stringContaining(fault)));
});
