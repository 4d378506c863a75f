import { type ServiceError, status } from '@grpc/grpc-js';
import { KindlingError } from '../../protocol/error.ts';
import { findBrokenRung } from './diagnose.ts';
import { authorityOf, type Endpoint } from './endpoint.ts';
import type { Network } from './network.ts';

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && typeof (error as ServiceError).code === 'number' && 'details' in error;
}

export function hasGrpcCode(error: unknown, ...codes: status[]): error is ServiceError {
  return isServiceError(error) && codes.includes(error.code);
}

/** Codes that grpc-js itself makes when it cannot reach or understand the server; the ladder tells why. */
const TRANSPORT_CODES = [status.UNAVAILABLE, status.UNKNOWN, status.INTERNAL, status.DEADLINE_EXCEEDED];

/** Says why a call failed, in our words: the broken rung of the ladder, the HTTP status, or the gRPC code. */
export async function explainCallError(
  network: Network,
  endpoint: Endpoint,
  what: string,
  error: unknown,
): Promise<KindlingError> {
  if (error instanceof KindlingError) return error;
  if (isServiceError(error) && !TRANSPORT_CODES.includes(error.code))
    return fromGrpcCode(endpoint, what, error);
  const httpStatus = isServiceError(error) ? /HTTP status code (\d+)/.exec(error.details)?.[1] : undefined;
  if (httpStatus !== undefined) return httpStatusError(endpoint, what, Number(httpStatus), error);
  const broken = await findBrokenRung(network, endpoint).catch(() => undefined);
  if (broken) return broken;
  if (isServiceError(error)) return fromGrpcCode(endpoint, what, error);
  return new KindlingError(
    'KND_SERVER_UNAVAILABLE',
    `${what}: ${authorityOf(endpoint)} broke off the exchange`,
    {
      cause: error,
    },
  );
}

export function httpStatusError(
  endpoint: Endpoint,
  what: string,
  code: number,
  cause?: unknown,
): KindlingError {
  if (code === 401 || code === 403) {
    return new KindlingError(
      code === 401 ? 'KND_UNAUTHENTICATED' : 'KND_PERMISSION_DENIED',
      `${what}: ${authorityOf(endpoint)} answered HTTP ${code}`,
      { cause },
    );
  }
  return new KindlingError(
    'KND_SERVER_HTTP_STATUS',
    `${what}: ${authorityOf(endpoint)} answered HTTP ${code}`,
    {
      cause,
      evidence: { status: code },
      retryable: code >= 500 || code === 429 || code === 408,
    },
  );
}

function fromGrpcCode(endpoint: Endpoint, what: string, error: ServiceError): KindlingError {
  const said = `${status[error.code]}${error.details ? ` “${error.details}”` : ''}`;
  const message = `${what}: ${authorityOf(endpoint)} answered ${said}`;
  const details = { cause: error, evidence: { grpcCode: status[error.code] } };
  switch (error.code) {
    case status.UNAUTHENTICATED:
      return new KindlingError('KND_UNAUTHENTICATED', message, details);
    case status.PERMISSION_DENIED:
      return new KindlingError('KND_PERMISSION_DENIED', message, details);
    case status.UNAVAILABLE:
    case status.DEADLINE_EXCEEDED:
      return new KindlingError('KND_SERVER_UNAVAILABLE', message, details);
    case status.UNIMPLEMENTED:
      return new KindlingError('KND_SERVER_PROTOCOL', message, details);
    default:
      return new KindlingError('KND_SERVER_GRPC_STATUS', message, details);
  }
}
