import { expect, test } from 'vitest';
import {
  EnrollmentRuleSchema,
  matchRule,
  withPatterns,
} from '../../../orchestrator-stub/settings/enrollment-rules.ts';

const rule = (name: string, ...patterns: object[]) =>
  EnrollmentRuleSchema.parse({ name, template: name, rules: patterns.map((each) => JSON.stringify(each)) });
const vendor = { product: { vendor: ['Dell Inc.', 'HPE'] } };
const ssd = { blockDevices: { driveType: ['SSD'] } };
const machine = {
  product: { vendor: 'Dell Inc.', name: 'R650' },
  block: [{ name: 'sda', driveType: 'HDD' }, { driveType: 'SSD' }],
  network: [{ mac: '52:54:00:12:34:56' }],
  pci: [{ class: 'Ethernet controller' }],
  gpu: [{ vendor: 'NVIDIA' }],
  cpu: { totalCores: 8 },
};

test('the rule of which the most patterns match wins, the first of equals', () => {
  const [one, two] = [rule('one', vendor), rule('two', ssd, vendor)];
  expect(matchRule([one, two], machine)).toBe(two);
  expect(matchRule([one, rule('other', ssd)], machine)).toBe(one);
  expect(matchRule([rule('or', { product: { vendor: ['x'] } }, ssd)], machine)?.name).toBe('or');
});

test.each([
  ssd,
  { networkInterfaces: { mac: [{ prefix: '52:54' }] } },
  { pciDevices: { class: [{ prefix: 'Eth' }] } },
  { gpuDevices: { vendor: ['NVIDIA'] } },
])('attributes have the names that Tinkerbell gives them: %j', (pattern) => {
  expect(matchRule([rule('x', pattern)], machine)?.name).toBe('x');
});

test('a machine that says nothing fits no rule that wants something', () => {
  expect(matchRule([rule('x', vendor)], undefined)).toBeUndefined();
});

test('a pattern that cannot be read is refused when the rule is saved', () => {
  expect(() => EnrollmentRuleSchema.parse({ name: 'x', template: 'x', rules: ['{"a":1}'] })).toThrow(
    'a must be a list of values',
  );
});

test.each([
  [{ 'product.vendor': ['Dell Inc.'], 'block.driveType': ['SSD'] }, true],
  [{ 'product.vendor': ['Dell Inc.'], 'product.name': ['R750'] }, false],
  [{ 'cpu.totalCores': ['8'] }, true],
  [{}, true],
])('a rule kept in the old form means the same: %j', (when, isMatch) => {
  const converted = EnrollmentRuleSchema.parse(withPatterns({ name: 'x', template: 'x', when }));
  expect(matchRule([converted], machine) !== undefined).toBe(isMatch);
});
