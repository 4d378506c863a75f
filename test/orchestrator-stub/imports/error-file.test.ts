import { expect, test } from 'vitest';
import { errorFileName, writeErrorFile } from '../../../orchestrator-stub/imports/error-file.ts';
import { readMachineList } from '../../../orchestrator-stub/imports/machine-list.ts';
import type { ImportRow } from '../../../protocol/imports.ts';

const ROW: ImportRow = {
  line: 2,
  cells: [],
  node: '',
  verdict: 'new',
  faults: [],
  changes: [],
  outcome: null,
  detail: '',
  nodeId: null,
};

test('holds the rejected rows in the original columns, the reasons last, and is a list itself', () => {
  const text = writeErrorFile({ columns: ['Name', 'Error - do not fill', 'Serial'], delimiter: ';' }, [
    { ...ROW, cells: ['good', '', 'ABC1'], outcome: 'registered' },
    {
      ...ROW,
      cells: ['bad; "very"', 'old', 'A#1'],
      verdict: 'bad',
      faults: [
        { column: 2, message: 'one' },
        { column: null, message: 'two' },
      ],
    },
    { ...ROW, cells: ['=late', '', 'ABC2'], outcome: 'failed', detail: 'taken' },
  ]);
  expect(text).toBe('Name;Serial;Error\r\n"bad; ""very""";A#1;"one; two"\r\n=late;ABC2;taken\r\n');
  expect(readMachineList(text).machines.map(({ cell }) => cell('Name'))).toEqual(['bad; "very"', '=late']);
});

test.each([
  ['tills.csv', 'tills.errors.csv'],
  ['"a"\r\nx: y.CSV', '_a___x_ y.errors.csv'],
  ['.csv', 'machines.errors.csv'],
])('the rejected rows of %j are in %s', (file, name) => {
  expect(errorFileName(file)).toBe(name);
});
