import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

export interface ErrorDetails {
  /** Replaces the table's general hint where the thrower knows better. */
  hint?: string;
  /** Replaces the table's default where the thrower knows better. */
  retryable?: boolean;
  cause?: unknown;
  /** Facts for a machine: paths, sizes, candidates. Never secrets. */
  evidence?: Record<string, unknown>;
}

/** What went wrong as plain data: it travels over the action pipe, to the server, and into the QR code. */
export interface ErrorReport {
  code: string;
  message: string;
  hint: string;
  retryable: boolean;
  evidence?: Record<string, unknown>;
  causes: string[];
}

/** The one error type of both programs: a stable code, a message that names the object, and what to do next. */
export class KindlingError extends Error {
  override readonly name = 'KindlingError';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly retryable: boolean;
  readonly evidence: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    const entry = ERROR_CODES[code];
    this.code = code;
    this.hint = details.hint ?? entry.hint;
    this.retryable = details.retryable ?? entry.retryable;
    this.evidence = details.evidence;
  }

  /** The exit code of the class this error belongs to: 1 failed, 2 usage or config, 3 environment, 4 refused for safety. */
  get exitCode(): number {
    return ERROR_CODES[this.code].exit;
  }
}

/** Turns anything that was thrown into a report; an error we did not name becomes KND_UNEXPECTED. */
export function toErrorReport(thrown: unknown): ErrorReport {
  const error = toKindlingError(thrown);
  return {
    code: error.code,
    message: error.message,
    hint: error.hint,
    retryable: error.retryable,
    ...(error.evidence ? { evidence: error.evidence } : {}),
    causes: causesOf(error),
  };
}

export function toKindlingError(thrown: unknown): KindlingError {
  if (thrown instanceof KindlingError) return thrown;
  const ofFile = describeFileError(thrown);
  if (ofFile) return new KindlingError('KND_FILE_ACCESS', ofFile, { cause: thrown });
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new KindlingError('KND_UNEXPECTED', message, { cause: thrown });
}

/** What the system says of files, for people; such a failure is no defect of ours. */
const FILE_ERRORS: Record<string, string> = {
  EACCES: 'permission denied',
  EEXIST: 'it exists already',
  EISDIR: 'it is a folder, not a file',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'there is no room left on its disk',
  ENOTDIR: 'a part of the path is no folder',
  EPERM: 'permission denied',
  EROFS: 'its file system is read-only',
};

function describeFileError(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { code = '', path, dest, syscall = '' } = thrown as NodeJS.ErrnoException & { dest?: string };
  const reason = FILE_ERRORS[code];
  // a program that is missing is another matter, and so is a socket
  if (
    !reason ||
    syscall.startsWith('spawn') ||
    (path === undefined && syscall !== 'read' && syscall !== 'write')
  )
    return undefined;
  return `${dest ?? path ?? `a file (${syscall})`}: ${reason}`;
}

/** One paragraph for a person: code, message, causes, next step. */
export function describeError(thrown: unknown): string {
  const report = toErrorReport(thrown);
  const causes = report.causes.map((cause) => `\n  because: ${cause}`).join('');
  return `${report.code}: ${report.message}${causes}\n  next: ${report.hint}`;
}

function causesOf(error: Error): string[] {
  const causes: string[] = [];
  let cause: unknown = error.cause;
  while (cause !== undefined && causes.length < 8) {
    const text = cause instanceof Error ? cause.message : String(cause);
    if (text !== error.message && text !== causes.at(-1)) causes.push(text);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}
