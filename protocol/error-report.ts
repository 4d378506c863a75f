import { type ErrorReport, KindlingError } from './error.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** What another process, thread or server reported, as the same kind of error here. A peer may know codes that we do not, and leave things out. */
export function fromReport(report: Pick<ErrorReport, 'message'> & Partial<ErrorReport>): KindlingError {
  const { code = '', message, hint, retryable, evidence, causes = [] } = report;
  return new KindlingError(isOurs(code) ? code : 'KND_UNEXPECTED', message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryable === undefined ? {} : { retryable }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(causes.length > 0 ? { cause: chainOf(causes) } : {}),
  });
}

function isOurs(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

/** Each cause as the cause of the one before, so that a second report of it says the same as the first. */
function chainOf(causes: readonly string[]): Error | undefined {
  return causes.reduceRight<Error | undefined>((cause, message) => new Error(message, { cause }), undefined);
}
