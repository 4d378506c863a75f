import type { ServerResponse } from 'node:http';
import { toErrorReport } from '../../protocol/error.ts';
import type { ErrorCode } from '../../protocol/error-codes.ts';

/** HTTP status of our codes; whatever is not named is a defect of ours: 500. */
const STATUS_OF: Partial<Record<ErrorCode, number>> = {
  KND_API_BUSY: 429,
  KND_API_FORBIDDEN: 403,
  KND_API_INVALID: 400,
  KND_API_METHOD: 405,
  KND_API_NOT_FOUND: 404,
  KND_API_TOO_LARGE: 413,
  KND_API_UNAUTHENTICATED: 401,
  KND_CSV_INVALID: 400,
  KND_DEVICE_CODE: 404,
  KND_HARDWARE_INVALID: 400,
  KND_IMPORT_STATE: 409,
  KND_IMPORT_UNKNOWN: 404,
  KND_NODE_CONFLICT: 409,
  KND_NODE_INVALID: 400,
  KND_NODE_LIMIT: 429,
  KND_NODE_STATE: 409,
  KND_NODE_UNKNOWN: 404,
  KND_PERSON_INVALID: 400,
  KND_PERSON_UNKNOWN: 404,
  KND_PROFILE_IN_USE: 409,
  KND_PROFILE_INVALID: 400,
  KND_PROFILE_UNKNOWN: 404,
  KND_STATE_DAMAGED: 503,
  KND_STATE_FULL: 503,
  KND_STATE_IO: 503,
  KND_STATE_LOCKED: 503,
  KND_STATE_READ_ONLY: 503,
  KND_TEMPLATE_INVALID: 422,
  KND_TEMPLATE_UNKNOWN: 404,
  KND_TOKEN_UNKNOWN: 404,
  KND_WORKFLOW_STATE: 409,
  KND_WORKFLOW_UNKNOWN: 404,
};

/** When a caller is to ask again after the state folder took no writes. */
const RETRY_AFTER_SECONDS = 5;

/** Answers with application/problem+json (RFC 9457): our code, message and hint, and the facts. */
export function sendProblem(response: ServerResponse, thrown: unknown): void {
  const report = toErrorReport(thrown);
  const status = STATUS_OF[report.code as ErrorCode] ?? 500;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // An unnamed failure may carry paths or statements of ours: the log has them, the caller gets the code.
  const isOurs = status !== 500;
  const problem = {
    type: `urn:kindling:error:${report.code}`,
    title: isOurs ? report.message : 'the server failed',
    status,
    code: report.code,
    hint: report.hint,
    retryable: report.retryable,
    ...(isOurs && report.evidence ? { evidence: report.evidence } : {}),
    ...(isOurs && report.causes.length > 0 ? { causes: report.causes } : {}),
  };
  response.writeHead(status, {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Bearer realm="kindling"' } : {}),
  });
  response.end(JSON.stringify(problem));
}
