import { expect, test } from 'vitest';
import { markdownTable } from '../../formats/markdown-table.ts';

test('columns are as wide as their widest cell; a bar in a cell does not end it', () => {
  expect(
    markdownTable(
      ['name', 'is'],
      [
        ['`a`', 'x | y'],
        ['longer', ''],
      ],
    ),
  ).toBe(
    [
      '| name   | is     |', //
      '| ------ | ------ |',
      '| `a`    | x \\| y |',
      '| longer |        |',
    ].join('\n'),
  );
});
