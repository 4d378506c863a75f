import type { Arbitrary } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ErrorReport } from '../../protocol/error.ts';
import { decodeFailure, encodeFailure } from '../../protocol/failure-text.ts';
import fc from '../seeds/fast-check.ts';

const HASH = '0123456789abcdef'.repeat(4);
const text = fc.string({ maxLength: 300, unit: 'grapheme' });
const report: Arbitrary<ErrorReport> = fc.record({
  code: fc.constantFrom('KND_CONSENT_REQUIRED', 'KND_DISK_AMBIGUOUS', 'KND_TIMEOUT'),
  message: text,
  hint: text,
  retryable: fc.boolean(),
  causes: fc.array(text, { maxLength: 3 }),
});
const plan = fc.option(
  fc.string({ minLength: 64, maxLength: 64, unit: fc.constantFrom(...'0123456789abcdef') }),
  {
    nil: undefined,
  },
);

describe('a failed action as one text', () => {
  test('gives back its code, its plan and its message', () => {
    fc.assert(
      fc.property(report, plan, (failure, hash) => {
        const decoded = decodeFailure(encodeFailure(failure, hash));
        const isAsked = failure.code === 'KND_CONSENT_REQUIRED';
        expect(decoded?.code).toBe(failure.code);
        if (isAsked && hash !== undefined) expect(decoded?.plan).toBe(hash);
        if (!isAsked) expect(decoded?.plan).toBeUndefined();
        expect(decoded?.said.startsWith(failure.message)).toBe(true);
      }),
    );
  });

  test('keeps its plan when a long list of disks is cut off', () => {
    const long = encodeFailure(
      { code: 'KND_CONSENT_REQUIRED', message: 'x'.repeat(5000), hint: '', retryable: false, causes: [] },
      HASH,
    );
    expect(long).toHaveLength(2000);
    expect(decodeFailure(long)?.plan).toBe(HASH);
  });

  test('is what agents have sent since the first release', () => {
    const old = `KND_CONSENT_REQUIRED: plan ${HASH} wants consent: erase: destroys everything on /dev/sda; next: Approve it.`;
    expect(decodeFailure(old)).toEqual({
      code: 'KND_CONSENT_REQUIRED',
      plan: HASH,
      said: 'erase: destroys everything on /dev/sda; next: Approve it.',
    });
  });

  test.each([
    ['another agent’s words', 'action failed: exit code 1'],
    ['nothing', ''],
    ['a code without a text', 'KND_CONSENT_REQUIRED'],
  ])('is not %s', (_name, message) => {
    expect(decodeFailure(message)).toBeUndefined();
  });

  test('has no plan where the words only look like one', () => {
    expect(decodeFailure(`KND_DISK_AMBIGUOUS: plan ${HASH} wants consent: x`)?.plan).toBeUndefined();
    expect(decodeFailure(`KND_CONSENT_REQUIRED: plan ${HASH}0 wants consent: x`)?.plan).toBeUndefined();
    expect(decodeFailure(`said: KND_CONSENT_REQUIRED: plan ${HASH} wants consent: x`)).toBeUndefined();
  });
});
