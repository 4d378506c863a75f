import { expect, it } from 'vitest';
import { firstLie } from './first-lie.ts';
import { Reader } from './reader.ts';

const fence = (kind: string, ...lines: string[]) => [`\`\`\`${kind}`, ...lines, '```', ''].join('\n');

it.each([
  ['what is true', fence('console runnable', '$ echo one', 'one'), undefined],
  ['a wrong output', fence('console runnable', '$ echo one', 'two'), '2: echo one: shows “two”'],
  ['an output that is not shown', fence('console runnable', '$ echo one'), 'printed is also “one”'],
  ['a command that fails', fence('sh runnable', 'true', 'false'), '3: false: fails with 1'],
  ['a command that is not there', fence('sh runnable', 'kindlng node list'), 'fails with 127'],
  ['quotes that do not end', fence('sh runnable', "echo 'x"), 'fails with'],
  ['what is not to be run', fence('sh not-run: it fails', 'false'), undefined],
  ['what boots machines', fence('sh runnable long', 'false'), undefined],
  [
    'a server that says something else',
    fence('console runnable background', '$ echo up', 'ready'),
    'ended with 0: up',
  ],
  [
    'a server that ends',
    fence('console runnable background', '$ echo up; exit 3', 'up') + fence('sh runnable', 'wait'),
    '2: ended with 3: up',
  ],
  [
    'the state that a command leaves',
    fence('sh runnable', 'mkdir x; cd x; export y=1') +
      fence('console runnable', '$ echo $PWD $y ~', '/home/you/kindling/x 1 /home/you'),
    undefined,
  ],
])('a reader who types a page finds %s', async (_, page, lie) => {
  await using reader = await Reader.arrive();
  const found = await firstLie(page, reader);
  if (lie === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(lie);
});
