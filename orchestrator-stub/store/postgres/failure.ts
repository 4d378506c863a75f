import { KindlingError } from '../../../protocol/error.ts';

/** Two transactions wanted the same; one of them has to start anew. https://www.postgresql.org/docs/15/errcodes-appendix.html */
const CONFLICTS = new Set(['40001', '40P01']);
/** Errors of sockets and name services. */
const UNREACHABLE = /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_)|ENOTFOUND|ENOENT|EACCES)/;
/** What pg says where the server says nothing; it gives no codes. */
const LOST =
  /Connection terminated|connection error and is not queryable|Client was closed|timeout expired|timeout exceeded when trying to connect|Query read timeout/;

/** True of what succeeds when the same transaction is done once more. */
export function isConflict(thrown: unknown): boolean {
  return CONFLICTS.has(codeOf(thrown));
}

/** What PostgreSQL or the way there threw, by our name for it; undefined if the statement is to blame. */
export function toDatabaseFailure(thrown: unknown, database: string): KindlingError | undefined {
  if (thrown instanceof KindlingError) return thrown.code.startsWith('KND_STATE_') ? thrown : undefined;
  const code = codeOf(thrown);
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const failure = (name: Parameters<typeof makeError>[0], what: string, hint?: string) =>
    makeError(name, `${what} (${database}): ${reason}`, thrown, hint);
  if (isLost(code, reason)) return failure('KND_STATE_CONNECTION', 'the database does not answer');
  switch (true) {
    case CONFLICTS.has(code):
      return failure('KND_STATE_CONFLICT', 'another program changes the database');
    case code === '53100':
      return failure(
        'KND_STATE_FULL',
        'the disk of the database is full',
        'Make room on the disk of the database server. The orchestrator goes on by itself, and agents ask again until then.',
      );
    // A standby, or a server that an operator made read-only.
    case code === '25006':
      return failure(
        'KND_STATE_READ_ONLY',
        'the database is read-only',
        'Let --database lead to the primary server: several hosts with target_session_attrs=read-write, or a name that follows it.',
      );
    case code === 'XX001' || code === 'XX002':
      return failure(
        'KND_STATE_DAMAGED',
        'the database is damaged',
        'Read the server’s log, and put a backup in place.',
      );
    // Wrong password, no such role, no such database, a permission that is missing, a certificate that is not believed.
    case code.startsWith('28') || code === '3D000' || code === '42501' || isCertificateError(code):
      return failure('KND_STATE_REFUSED', 'the database refuses us');
    default:
      return undefined;
  }
}

/** Class 08: connection exceptions; 57P0x: the server goes down or comes up; 53300: it has no connection left. */
function isLost(code: string, reason: string): boolean {
  return (
    /^(08|57P0)/.test(code) ||
    code === '53300' ||
    UNREACHABLE.test(code) ||
    (code === '' && LOST.test(reason))
  );
}

function isCertificateError(code: string): boolean {
  return /^(ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code);
}

function makeError(
  code:
    | 'KND_STATE_CONFLICT'
    | 'KND_STATE_CONNECTION'
    | 'KND_STATE_DAMAGED'
    | 'KND_STATE_FULL'
    | 'KND_STATE_READ_ONLY'
    | 'KND_STATE_REFUSED',
  message: string,
  cause: unknown,
  hint?: string,
): KindlingError {
  return new KindlingError(code, message, { cause, ...(hint ? { hint } : {}) });
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}
