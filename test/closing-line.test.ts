import { describe, expect, it } from 'vitest';
import { slowestFiles } from './closing-line.ts';

describe('the end of a test run', () => {
  it('names the ten slowest files, slowest first', () => {
    const files = Array.from({ length: 12 }, (_, n) => ({ file: `test/${n}.test.ts`, ms: n * 1000 }));
    const lines = slowestFiles(files).trim().split('\n');
    expect(lines).toHaveLength(11);
    expect(lines[0]).toBe('the slowest of 12 files:');
    expect(lines[1]).toBe('    11.0 s  test/11.test.ts');
    expect(lines[10]).toBe('     2.0 s  test/2.test.ts');
  });

  it('names none where one file was run', () => {
    expect(slowestFiles([{ file: 'test/a.test.ts', ms: 1 }])).toBe('');
  });
});
