import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { KindlingError, toKindlingError } from '../../protocol/error.ts';
import { isStateFailure } from '../store/state-failure.ts';

/** What an answer other than OK consists of. */
export interface Refusal {
  code: status;
  details: string;
}

/** A refusal in the form grpc-js sends. */
export function refusal(code: status, details: string): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}

/** The store failed, in the words of a server whose backend is away. INTERNAL or UNAVAILABLE: agents ask again. */
export function backendFailure(
  what: string,
  thrown: unknown,
  onDefect: (thrown: unknown) => void,
): ServiceError {
  onDefect(thrown);
  if (isStateFailure(thrown)) return unavailable(thrown, `${what}: `);
  return refusal(status.INTERNAL, `${what}: ${toKindlingError(thrown).message}`);
}

/** The state folder takes no writes: nothing was changed, and the caller is to ask again until it does. */
function unavailable({ code, message }: KindlingError, prefix = ''): ServiceError {
  return refusal(status.UNAVAILABLE, `${prefix}${code}: ${message}`);
}

/** Our named errors with the gRPC code that fits; whatever has no name is our defect: the log gets it, the caller a code. */
export function toRefusal(thrown: unknown, onDefect: (thrown: unknown) => void): ServiceError {
  if (thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number') {
    return thrown as ServiceError;
  }
  if (thrown instanceof KindlingError) {
    if (thrown.code === 'KND_API_UNAUTHENTICATED') return refusal(status.UNAUTHENTICATED, thrown.message);
    if (thrown.code === 'KND_API_FORBIDDEN') return refusal(status.PERMISSION_DENIED, thrown.message);
    if (thrown.code === 'KND_PROOF_REQUIRED')
      return refusal(status.FAILED_PRECONDITION, `${thrown.code}: ${thrown.message}`);
    if (thrown.code === 'KND_NODE_LIMIT') return refusal(status.RESOURCE_EXHAUSTED, thrown.message);
  }
  onDefect(thrown);
  if (isStateFailure(thrown)) return unavailable(thrown);
  return refusal(status.INTERNAL, 'Internal server error');
}
