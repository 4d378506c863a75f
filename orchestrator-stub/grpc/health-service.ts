import { create } from '@bufbuild/protobuf';
import { type Server, status } from '@grpc/grpc-js';
import {
  Health,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../protocol/generated/grpc-health_pb.js';
import { type ServiceHandlers, serviceDefinition } from '../../protocol/grpc-service.ts';
import { refusal } from './refusal.ts';

/** grpc.health.v1: the server as a whole ("") and each of its services is serving until it stops. */
export function addHealthService(server: Server, services: readonly string[], stopping: AbortSignal): void {
  const known = new Set(['', ...services]);
  const answer = (service: string) => {
    const serving = stopping.aborted ? ServingStatus.NOT_SERVING : ServingStatus.SERVING;
    return create(HealthCheckResponseSchema, {
      status: known.has(service) ? serving : ServingStatus.SERVICE_UNKNOWN,
    });
  };
  server.addService(serviceDefinition(Health), {
    check: (call, callback) => {
      if (known.has(call.request.service)) callback(null, answer(call.request.service));
      else callback(refusal(status.NOT_FOUND, 'unknown service'));
    },
    watch: (call) => {
      const { service } = call.request;
      call.write(answer(service));
      const onStopping = () => {
        call.write(answer(service));
        call.end();
      };
      stopping.addEventListener('abort', onStopping, { once: true });
      call.on('cancelled', () => stopping.removeEventListener('abort', onStopping));
    },
  } satisfies ServiceHandlers<typeof Health>);
}
