import { describe, expect, it } from 'vitest';
import { formatDuration } from '../../../agent/workflow/duration.ts';
import { parseEnvironment } from '../../../agent/workflow/work.ts';
import { encodeFailure } from '../../../protocol/failure-text.ts';

describe('durations as tink-agent writes them', () => {
  it.each([
    [63_000, '1m3s'],
    [2015, '2s15ms'],
    [3_720_000, '1h2m'],
    [3_600_005, '1h5ms'],
    [0, '0s'],
    [-5, '0s'],
  ])('%i ms is %s', (milliseconds, expected) => {
    expect(formatDuration(milliseconds)).toBe(expected);
  });
});

describe('texts for people', () => {
  it('a failure has code, reason, causes and next step', () => {
    const text = encodeFailure({
      code: 'KND_X',
      message: 'no disk',
      hint: 'Add one.',
      retryable: false,
      causes: ['EIO'],
    });
    expect(text).toBe('KND_X: no disk; because: EIO; next: Add one.');
  });
});

describe('environment entries', () => {
  it('are split at the first = only', () => {
    expect(parseEnvironment(['A=1', 'B=', 'C=x=y', 'D', 'E=two\nlines'])).toEqual({
      A: '1',
      B: '',
      C: 'x=y',
      D: '',
      E: 'two\nlines',
    });
  });
});
