import { describe, expect, it } from 'vitest';
import { PreconditionFailureSchema } from '../../protocol/generated/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../protocol/generated/google/rpc/status_pb.js';
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../protocol/generated/grpc-health_pb.js';
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from '../../protocol/generated/grpc-reflection_pb.js';
import { methodPath } from '../../protocol/grpc-service.ts';
import { itIsOnTheWire } from './bytes.ts';

describe('the standard gRPC messages on the wire', () => {
  it('has the standard method names', () => {
    expect(methodPath(Health.method.check)).toBe('/grpc.health.v1.Health/Check');
    expect(methodPath(ServerReflection.method.serverReflectionInfo)).toBe(
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    );
  });

  itIsOnTheWire('code and message', StatusSchema, '08 0d  12 04 "oops"', { code: 13, message: 'oops' });
  itIsOnTheWire('a violation', PreconditionFailureSchema, '0a 09  0a 01 "t"  12 01 "s"  1a 01 "d"', {
    violations: [{ type: 't', subject: 's', description: 'd' }],
  });
  itIsOnTheWire('health of one service', HealthCheckRequestSchema, '0a 05 "proto"', { service: 'proto' });
  itIsOnTheWire('SERVING is 1', HealthCheckResponseSchema, '08 01', { status: ServingStatus.SERVING });
  itIsOnTheWire('list services', ServerReflectionRequestSchema, '3a 01 "*"', {
    messageRequest: { case: 'listServices', value: '*' },
  });
  itIsOnTheWire('file containing a symbol', ServerReflectionRequestSchema, '0a 01 "h"  22 03 "a.B"', {
    host: 'h',
    messageRequest: { case: 'fileContainingSymbol', value: 'a.B' },
  });
  itIsOnTheWire(
    'two services',
    ServerReflectionResponseSchema,
    '0a 01 "h"  12 03  3a 01 "*"  32 0a  0a 03  0a 01 "a"  0a 03  0a 01 "b"',
    {
      validHost: 'h',
      originalRequest: { messageRequest: { case: 'listServices', value: '*' } },
      messageResponse: { case: 'listServicesResponse', value: { service: [{ name: 'a' }, { name: 'b' }] } },
    },
  );
  itIsOnTheWire('a descriptor', ServerReflectionResponseSchema, '22 04  0a 02 ca fe', {
    messageResponse: {
      case: 'fileDescriptorResponse',
      value: { fileDescriptorProto: [Uint8Array.of(0xca, 0xfe)] },
    },
  });
  itIsOnTheWire('an error', ServerReflectionResponseSchema, '3a 06  08 05  12 02 "no"', {
    messageResponse: { case: 'errorResponse', value: { errorCode: 5, errorMessage: 'no' } },
  });
});
