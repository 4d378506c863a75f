import { expect, test } from 'vitest';
import { BULK_EXAMPLE, readBulkFile } from '../../cli/node/bulk-rows.ts';
import { parseCsv } from '../../cli/node/csv.ts';

const OLD = 'Serial,UUID,OSProfile,Site,Secure,RemoteUser,Metadata,Error - do not fill';
const UUID = '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5';

test('CSV with quotes, line breaks, CRLF, a byte-order mark and short rows', () => {
  const rows = parseCsv('\uFEFFa,b\r\n"x, ""y""",2\r\n\r\n"line\nbreak"\nlast\n');
  expect(rows.map(({ line }) => line)).toEqual([1, 2, 4, 6]);
  expect(rows.map(({ fields }) => fields)).toEqual([['a', 'b'], ['x, "y"', '2'], ['line\nbreak'], ['last']]);
  expect(() => parseCsv('a,"never closed\n')).toThrow('never closed');
});

test('both generations of EMF’s header, and ours, are read by name', () => {
  const [row] = readBulkFile(`${OLD}\nABC12345,${UUID},ubuntu,shop,true,,rack=1&row=2\n`).rows;
  expect(row).toMatchObject({
    serial: 'ABC12345',
    uuid: UUID,
    profile: 'ubuntu',
    site: 'shop',
    metadata: { rack: '1', row: '2' },
    errors: [],
  });
  const newer =
    'Serial,UUID,OSProfile,Site,Secure,RemoteUser,Metadata,LVMSize,CloudInitMeta,K8sEnable,K8sClusterTemplate,K8sConfig,Error - do not fill';
  const file = readBulkFile(`${newer}\nABC12345,,,,,,,60,,true\n`);
  expect(file.rows[0]?.errors).toEqual([]);
  expect(file.unused).toEqual(['LVMSize', 'K8sEnable']);
  expect(readBulkFile('name,MAC\ntill-1,52:54:00:12:34:56\n').rows[0]).toMatchObject({
    name: 'till-1',
    errors: [],
  });
});

test('an exported error file can be imported again: its last column is not looked at', () => {
  expect(readBulkFile(`${OLD}\nABC12345,,,,,,,Invalid UUID;\n`).rows[0]?.errors).toEqual([]);
});

test.each([
  ['ABC#1,', 'Invalid Serial number'],
  [",12'; DROP TABLE hosts;--", 'Invalid UUID'],
  [',', 'One of Serial number, UUID or MAC required'],
  ['ABC12345,,,,maybe', 'Secure must be true or false'],
  ['ABC12345,,,,,,a=b=c', 'Invalid Metadata'],
])('%s: %s', (line, error) => {
  // A row of commas only is a blank line, so something else is said in it.
  expect(readBulkFile(`${OLD}\n${line === ',' ? ',,ubuntu' : line}\n`).rows[0]?.errors[0]).toContain(error);
});

test('duplicates name the earlier row, whatever the case', () => {
  const { rows } = readBulkFile(`${OLD}\nABC12345,${UUID}\nabc12345,${UUID.toUpperCase()}\n`);
  expect(rows[1]?.errors).toEqual([
    expect.stringMatching(/^Duplicate Serial number ".*": also in line 2$/),
    expect.stringMatching(/^Duplicate UUID ".*": also in line 2$/),
  ]);
});

test('a file that is something else is refused', () => {
  expect(() => readBulkFile('')).toThrow('empty');
  expect(() => readBulkFile('Serial,Color\nABC12345,red\n')).toThrow('Color');
});

test('the example of --example is a file without faults', () => {
  const { rows, unused } = readBulkFile(BULK_EXAMPLE);
  expect(rows.map(({ line, errors }) => [line, errors])).toEqual([
    [2, []],
    [3, []],
    [4, []],
  ]);
  expect(unused).toEqual([]);
});

test('a fault names the value and the rule', () => {
  const [row] = readBulkFile('Serial\nSN 05!\n').rows;
  expect(row?.errors).toEqual([
    'Invalid Serial number "SN 05!": up to 64 letters, digits, spaces, dots, dashes, slashes and underscores',
  ]);
  expect(() => readBulkFile('Serial;Name;MAC\n')).toThrow(
    expect.objectContaining({
      hint: expect.stringContaining('Separate columns by commas; known are Serial'),
    }),
  );
});

test('the column EKHash takes the hash of an endorsement key, and each only once', () => {
  const hash = 'ab'.repeat(32);
  const { rows } = readBulkFile(`Serial,EKHash\nABC1,${hash}\nABC2,${hash.toUpperCase()}\nABC3,abc\n`);
  expect(rows.map(({ ekHash, errors }) => [ekHash.length, errors.length])).toEqual([
    [64, 0],
    [64, 1],
    [3, 1],
  ]);
});
