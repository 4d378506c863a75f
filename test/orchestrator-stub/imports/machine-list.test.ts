import { expect, test } from 'vitest';
import {
  EXAMPLE_LIST,
  type Heading,
  MAX_ROWS,
  readMachineList,
} from '../../../orchestrator-stub/imports/machine-list.ts';

const OLD = 'Serial,UUID,OSProfile,Site,Secure,RemoteUser,Metadata,Error - do not fill';
const NEW =
  'Serial,UUID,OSProfile,Site,Secure,RemoteUser,Metadata,LVMSize,CloudInitMeta,K8sEnable,K8sClusterTemplate,K8sConfig,Error - do not fill';
const UUID = '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5';

const messages = (text: string, isStrict = false) =>
  readMachineList(text, isStrict).machines.map(({ faults }) => faults.map(({ message }) => message));

test('both generations of EMF’s header, and ours, are read by name', () => {
  const [old] = readMachineList(`${OLD}\nABC12345,${UUID},ubuntu,shop,true,,rack=1&row=2\n`).machines;
  expect(['Serial', 'UUID', 'OSProfile', 'Site', 'Secure'].map((each) => old?.cell(each as Heading))).toEqual(
    ['ABC12345', UUID, 'ubuntu', 'shop', 'true'],
  );
  expect(old).toMatchObject({ line: 2, metadata: { rack: '1', row: '2' }, faults: [] });
  const [newer] = readMachineList(`${NEW}\nABC12345,,,,,max,,60,a&b,false\n`).machines;
  expect(newer?.faults).toEqual([]);
  expect(['RemoteUser', 'LVMSize', 'CloudInitMeta'].map((each) => newer?.cell(each as Heading))).toEqual([
    'max',
    '60',
    'a&b',
  ]);
  const [ours] = readMachineList('name,MAC\ntill-1,52:54:00:12:34:56\n').machines;
  expect([ours?.cell('Name'), ours?.faults]).toEqual(['till-1', []]);
});

test('a spreadsheet may separate columns by semicolons', () => {
  const { delimiter, machines } = readMachineList('Serial;Name\nABC12345;till-1\n');
  expect([delimiter, machines[0]?.cell('Name')]).toEqual([';', 'till-1']);
});

test('a row may be short, or have empty cells too many', () => {
  expect(messages(`${NEW}\nABC12345\nABC12346${','.repeat(20)}\n`)).toEqual([[], []]);
});

test('an error file can be imported again: its last column is not looked at', () => {
  expect(messages(`${OLD}\nABC12345,,,,,,,Invalid UUID;\n`)).toEqual([[]]);
});

test.each([
  ['nothing to know it by', ',,ubuntu', 'One of Serial number, UUID or MAC required', null],
  ['a mark in the serial', 'ABC#1', 'Invalid Serial number "ABC#1": up to 64 letters', 0],
  ['a placeholder for a serial', 'To be filled by O.E.M.', 'Invalid Serial number', 0],
  ['a serial of 65 characters', 'A1'.repeat(33), 'Invalid Serial number', 0],
  ['no UUID', ",12'; DROP TABLE hosts;--", 'Invalid UUID', 1],
  [
    'a UUID that many machines have',
    `,${'f'.repeat(8)}-ffff-ffff-ffff-${'f'.repeat(12)}`,
    'identifies no',
    1,
  ],
  ['Secure is neither', 'ABC12345,,,,maybe', 'Secure must be true or false', 4],
  ['metadata without a value', 'ABC12345,,,,,,floor', 'Invalid Metadata "floor"', 6],
  ['metadata with two values', 'ABC12345,,,,,,a=b=c', 'Invalid Metadata "a=b=c"', 6],
  ['metadata twice', 'ABC12345,,,,,,a=b&a=c', '"a" is there twice', 6],
  ['a size that is no number', 'ABC12345,,,,,,,-5', 'Invalid LVM Size "-5"', 7],
  ['a cluster', 'ABC12345,,,,,,,,,true', 'Kindling makes no Kubernetes cluster', 9],
  ['K8sEnable is neither', 'ABC12345,,,,,,,,,yes', 'K8sEnable must be true or false', 9],
  ['a cluster template', 'ABC12345,,,,,,,,,,base:v1.0.0', 'leave K8sClusterTemplate empty', 10],
  ['a cluster configuration', 'ABC12345,,,,,,,,,,,role:all;name:x', 'leave K8sConfig empty', 11],
  ['more cells than columns', 'ABC12345,,,,,,,,,,,,,role:all', 'More cells than columns: "role:all"', null],
])('%s', (_what, line, message, column) => {
  expect(readMachineList(`${NEW}\n${line}\n`).machines[0]?.faults).toEqual([
    { column, message: expect.stringContaining(message) },
  ]);
});

test.each([
  ['MAC', '52:54', 'Invalid MAC "52:54"'],
  ['EKHash', 'abc', 'Invalid EKHash "abc"'],
  ['Name', 'x'.repeat(121), 'Name is longer than 120 characters'],
  ['Site', 'a\u0007b', 'Site has control characters'],
])('a wrong %s', (heading, value, message) => {
  expect(messages(`Serial,${heading}\nABC12345,${value}\n`)).toEqual([[expect.stringContaining(message)]]);
});

test('duplicates name the earlier line, whatever the case', () => {
  const hash = 'ab'.repeat(32);
  const header = 'Serial,UUID,MAC,EKHash,Name';
  const twice = [
    `ABC12345,${UUID},52-54-00-12-34-56,${hash},till-1`,
    `abc12345,${UUID},52:54:00:12:34:56,${hash},TILL-1`,
  ];
  expect(messages(`${header}\n${twice.join('\n')}\n`)[1]).toEqual([
    'Duplicate Serial number "abc12345": also in line 2',
    `Duplicate UUID "${UUID}": also in line 2`,
    'Duplicate MAC "52:54:00:12:34:56": also in line 2',
    `Duplicate EKHash "${hash}": also in line 2`,
    'Duplicate Name "TILL-1": also in line 2',
  ]);
});

test('serials are as firmware has them; a strict server takes what EMF takes', () => {
  const file = 'Serial\nCN-0A1B2C/7.4 R\n';
  expect(messages(file)).toEqual([[]]);
  expect(messages(file, true)).toEqual([[expect.stringContaining('with --strict it has 5 to 20')]]);
});

test.each([
  ['', 'the file is empty'],
  ['Serial,Color\nABC12345,red\n', 'unknown columns: Color'],
  ['Serial,,Name\nABC12345,,x\n', 'unknown columns: (no name)'],
  ['Serial,serial\nABC12345,ABC12346\n', 'the column Serial twice'],
  [`Serial\n${'ABC12345\n'.repeat(MAX_ROWS + 1)}`, `${MAX_ROWS} are taken`],
])('a file that is something else is refused (%#)', (text, message) => {
  expect(() => readMachineList(text)).toThrow(message);
});

test('the example of --example is a file without faults', () => {
  expect(messages(EXAMPLE_LIST)).toEqual([[], [], []]);
});
