import { describe, expect, it } from 'vitest';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import { fromReport } from '../../protocol/error-report.ts';

describe('an error that was reported', () => {
  it('is reported again word for word, causes included', () => {
    const deepest = new Error('connection refused');
    const error = new KindlingError('KND_ESCROW_FAILED', 'escrow.site did not take the key', {
      hint: 'Look at the escrow.',
      retryable: false,
      evidence: { disk: '/dev/sda' },
      cause: new Error('no answer', { cause: deepest }),
    });
    const report = toErrorReport(error);
    expect(report.causes).toEqual(['no answer', 'connection refused']);
    expect(toErrorReport(fromReport(report))).toEqual(report);
  });

  it('with a code that this side does not know is unexpected, and keeps the message', () => {
    expect(fromReport({ code: 'KND_OF_TOMORROW', message: 'the moon is full' })).toMatchObject({
      code: 'KND_UNEXPECTED',
      message: 'the moon is full',
    });
    expect(fromReport({ code: 'toString', message: 'x' }).code).toBe('KND_UNEXPECTED');
  });

  it('takes what the report leaves out from the table of codes', () => {
    const { hint, retryable } = new KindlingError('KND_NODE_UNKNOWN', '');
    expect(fromReport({ code: 'KND_NODE_UNKNOWN', message: 'no node' })).toMatchObject({ hint, retryable });
  });
});
