import { create } from '@bufbuild/protobuf';
import { type Server, status } from '@grpc/grpc-js';
import {
  Health,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../protocol/generated/grpc-health_pb.js';
import { type ServiceHandlers, serviceDefinition } from '../../protocol/grpc-service.ts';
import type { StateHealth } from '../store/state-health.ts';
import { refusal } from './refusal.ts';

/** grpc.health.v1: the server as a whole ("") and each of its services is serving until it stops or its state folder fails. */
export function addHealthService(
  server: Server,
  services: readonly string[],
  state: StateHealth,
  stopping: AbortSignal,
): void {
  const known = new Set(['', ...services]);
  const answer = (service: string) => {
    const isServing = !stopping.aborted && !state.check();
    const serving = isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
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
      const stopWatching = state.onChange(() => call.write(answer(service)));
      const onStopping = () => {
        stopWatching();
        call.write(answer(service));
        call.end();
      };
      stopping.addEventListener('abort', onStopping, { once: true });
      call.on('cancelled', () => {
        stopWatching();
        stopping.removeEventListener('abort', onStopping);
      });
    },
  } satisfies ServiceHandlers<typeof Health>);
}
