import { type ErrorReport, KindlingError } from './error.ts';
import type { ErrorCode } from './error-codes.ts';

/** A worker's error, as the same kind of error on this side. */
export function fromReport(report: ErrorReport): KindlingError {
  return new KindlingError(report.code as ErrorCode, report.message, {
    hint: report.hint,
    retryable: report.retryable,
    ...(report.evidence ? { evidence: report.evidence } : {}),
    ...(report.causes.length > 0 ? { cause: new Error(report.causes.join(': ')) } : {}),
  });
}
