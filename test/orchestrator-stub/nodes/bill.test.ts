import { expect, test } from 'vitest';
import { BillSchema, billDifferences, learnBill } from '../../../orchestrator-stub/nodes/bill.ts';
import type { DiskFacts, HardwareFacts } from '../../../protocol/hardware-facts.ts';

const GIB = 1024 ** 3;
const disk = (model: string, sizeBytes = 256 * GIB): DiskFacts => ({
  path: '/dev/nvme0n1',
  bus: 'nvme',
  model,
  serial: `S-${model}`,
  wwn: null,
  sizeBytes,
});
const nic = { name: 'eno1', mac: null, driver: 'igc', speedMbps: null };
const GOLDEN: HardwareFacts = {
  manufacturer: 'Acme',
  product: 'Box 3',
  cpu: { model: 'N100', sockets: 1, cores: 4 },
  memoryBytes: 8 * GIB,
  disks: [disk('A'), disk('A'), disk('B')],
  nics: [nic, nic],
  firmware: { kind: 'uefi', vendor: 'AMI', version: '1.2', date: null, secureBoot: 'on' },
  tpm: { version: '2.0', manufacturer: 'IFX' },
};
const learned = BillSchema.parse(learnBill(GOLDEN));
const differences = (change: Partial<HardwareFacts>) => billDifferences(learned, { ...GOLDEN, ...change });

test('what a machine teaches, it fulfills, and so does its twin with other serial numbers', () => {
  expect(learned).toMatchObject({
    cpu: 'N100',
    disks: [
      { model: 'A', count: 2 },
      { model: 'B', count: 1 },
    ],
    nics: [{ driver: 'igc', count: 2 }],
    tpm: '2.0',
  });
  expect(differences({})).toEqual([]);
  expect(
    differences({ disks: GOLDEN.disks.map((one) => ({ ...one, serial: 'other', path: '/dev/x' })) }),
  ).toEqual([]);
});

test.each<[string, Partial<HardwareFacts>, string[]]>([
  ['processor', { cpu: { model: 'N97', sockets: 1, cores: 4 } }, ['processor is N97, ordered is N100']],
  ['memory', { memoryBytes: 4 * GIB }, ['memory is 4 GiB, ordered is 8 GiB']],
  ['memory that firmware keeps a part of', { memoryBytes: 7.8 * GIB }, []],
  ['TPM', { tpm: null }, ['TPM is not known, ordered is 2.0']],
  ['a disk less', { disks: [disk('A'), disk('B')] }, ['disk A, nvme, 256 GiB: 1 found, ordered 2']],
  ['a disk more', { disks: [...GOLDEN.disks, disk('C')] }, ['disk: 1 found that nobody ordered']],
  [
    'a smaller disk',
    { disks: [disk('A'), disk('A', 128 * GIB), disk('B')] },
    ['disk A, nvme, 256 GiB: 1 found, ordered 2', 'disk: 1 found that nobody ordered'],
  ],
  ['a card less', { nics: [nic] }, ['network card igc: 1 found, ordered 2']],
  [
    'firmware',
    { firmware: { ...GOLDEN.firmware, version: '1.1', secureBoot: 'off' } },
    ['firmware is 1.1, ordered is 1.2', 'Secure Boot is off, ordered is on'],
  ],
])('a machine with another part differs: %s', (_name, change, expected) => {
  expect(differences(change)).toEqual(expected);
});

test('what a bill does not name may be anything', () => {
  const nothing = { ...GOLDEN, cpu: null, memoryBytes: null, disks: [], nics: [], tpm: null };
  expect(billDifferences(BillSchema.parse({}), nothing)).toEqual([]);
  expect(billDifferences(BillSchema.parse({ disks: [{}] }), nothing)).toEqual([
    'disk of any kind: 0 found, ordered 1',
  ]);
});

test('a machine that said little teaches little', () => {
  const quiet: HardwareFacts = {
    manufacturer: '',
    product: null,
    cpu: { model: 'N100', sockets: null, cores: 0 },
    memoryBytes: 0,
    disks: [],
    nics: [],
    firmware: { kind: null, vendor: null, version: null, date: null, secureBoot: null },
    tpm: null,
  };
  expect(learnBill(quiet)).toEqual({ cpu: 'N100', disks: [], nics: [] });
});
