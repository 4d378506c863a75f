import { create } from '@bufbuild/protobuf';
import { type Server, status } from '@grpc/grpc-js';
import {
  Health,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../protocol/generated/grpc-health_pb.js';
import { type ServiceHandlers, serviceDefinition } from '../../protocol/grpc-service.ts';
import type { StateHealth } from '../store/state-health.ts';
import { refusal, toRefusal } from './refusal.ts';

/** grpc.health.v1: the server as a whole ("") and each of its services is serving until it stops or its state folder fails. */
export function addHealthService(
  server: Server,
  services: readonly string[],
  state: StateHealth,
  stopping: AbortSignal,
  onDefect: (thrown: unknown) => void,
): void {
  const known = new Set(['', ...services]);
  const answer = (service: string) => {
    const isServing = !stopping.aborted && !state.failure;
    const serving = isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    return create(HealthCheckResponseSchema, {
      status: known.has(service) ? serving : ServingStatus.SERVICE_UNKNOWN,
    });
  };
  server.addService(serviceDefinition(Health), {
    check: (call, callback) => {
      const { service } = call.request;
      if (!known.has(service)) return callback(refusal(status.NOT_FOUND, 'unknown service'));
      state.check().then(
        () => callback(null, answer(service)),
        (thrown: unknown) => callback(toRefusal(thrown, onDefect)),
      );
    },
    watch: (call) => {
      const { service } = call.request;
      let stopWatching = () => {};
      const begin = () => {
        if (call['cancelled'] || stopping.aborted) return;
        call.write(answer(service));
        stopWatching = state.onChange(() => call.write(answer(service)));
      };
      const onStopping = () => {
        stopWatching();
        call.write(answer(service));
        call.end();
      };
      state.check().then(begin, (thrown: unknown) => call.emit('error', toRefusal(thrown, onDefect)));
      stopping.addEventListener('abort', onStopping, { once: true });
      call.on('cancelled', () => {
        stopWatching();
        stopping.removeEventListener('abort', onStopping);
      });
    },
  } satisfies ServiceHandlers<typeof Health>);
}
