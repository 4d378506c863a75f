import { expect, test } from 'vitest';
import { matchRule } from '../../../orchestrator-stub/settings/enrollment-rules.ts';

const rule = (name: string, when: Record<string, string[]> = {}) => ({ name, template: name, when });
const machine = {
  product: { vendor: 'Dell Inc.', name: 'R650' },
  block: [
    { name: 'sda', driveType: 'HDD' },
    { name: 'nvme0n1', driveType: 'SSD' },
  ],
  cpu: { totalCores: 8 },
};

test('the rule with the most conditions that all fit wins, the first of equals', () => {
  const any = rule('any');
  const dell = rule('dell', { 'product.vendor': ['Dell Inc.', 'HPE'] });
  const exact = rule('exact', { 'product.vendor': ['Dell Inc.'], 'product.name': ['R650'] });
  expect(matchRule([any, dell, exact], machine)).toBe(exact);
  expect(matchRule([any, dell], machine)).toBe(dell);
  expect(matchRule([rule('one'), rule('two')], machine)?.name).toBe('one');
});

test('a list on the way fits with any of its entries, a number by its digits', () => {
  expect(matchRule([rule('ssd', { 'block.driveType': ['SSD'] })], machine)?.name).toBe('ssd');
  expect(matchRule([rule('8', { 'cpu.totalCores': ['8'] })], machine)?.name).toBe('8');
});

test.each([
  ['another value', { 'product.vendor': ['HPE'] }],
  ['one of two', { 'product.vendor': ['Dell Inc.'], 'product.name': ['R750'] }],
  ['nothing there', { 'chassis.serial': ['1'] }],
  ['beyond a leaf', { 'product.vendor.length': ['9'] }],
  ['what every object has', { 'product.constructor': ['x'], __proto__: ['x'] }],
])('no rule fits: %s', (_case, when) => {
  expect(matchRule([rule('x', when)], machine)).toBeUndefined();
  expect(matchRule([rule('x', { a: ['b'] })], undefined)).toBeUndefined();
});
