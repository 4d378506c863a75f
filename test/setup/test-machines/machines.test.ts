import { describe, expect, it } from 'vitest';
import { chooseMachines, TEST_MACHINES } from '../../../setup/test-machines/machines.ts';

describe('npm run test:machines', () => {
  it('tests on all four machines unless some are named', () => {
    expect(chooseMachines([])).toEqual({ machines: TEST_MACHINES, testArgs: [] });
    expect(TEST_MACHINES.map(({ name }) => name)).toEqual(['fresh', 'containers', 'busy', 'two']);
  });

  it('takes names of machines, and behind -- what npm test is given', () => {
    const { machines, testArgs } = chooseMachines(['two', 'fresh', '--', 'test/net', '-t', 'x']);
    expect(machines.map(({ name }) => name)).toEqual(['fresh', 'two']);
    expect(testArgs).toEqual(['test/net', '-t', 'x']);
  });

  it('refuses a machine that it does not know', () => {
    expect(() => chooseMachines(['freshh'])).toThrow('unknown machine "freshh"');
  });
});
