import { describe, expect, it } from 'vitest';
import { describeError, KindlingError, toErrorReport } from '../../protocol/error.ts';

describe('KindlingError', () => {
  it('takes hint, retryable and exit class from the table', () => {
    const error = new KindlingError('KND_USAGE', 'no such command');
    expect(error.exitCode).toBe(2);
    expect(error.retryable).toBe(false);
    expect(error.hint).toContain('--help');
  });

  it('lists the causes from the outside in, without repeats', () => {
    const error = new KindlingError('KND_TIMEOUT', 'no answer', {
      cause: new Error('read', { cause: new Error('ECONNRESET') }),
    });
    expect(toErrorReport(error).causes).toEqual(['read', 'ECONNRESET']);
  });

  it('gives an error without a name the code KND_UNEXPECTED and keeps its message', () => {
    expect(toErrorReport(new TypeError('x is not a function'))).toMatchObject({
      code: 'KND_UNEXPECTED',
      message: 'x is not a function',
    });
  });

  it('is described with code, reason and next step', () => {
    const text = describeError(
      new KindlingError('KND_TIMEOUT', 'no DHCP answer', {
        cause: new Error('no link'),
        hint: 'Plug in the cable.',
      }),
    );
    expect(text).toBe('KND_TIMEOUT: no DHCP answer\n  because: no link\n  next: Plug in the cable.');
  });
});
