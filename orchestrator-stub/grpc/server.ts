import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { file_grpc_health } from '../../protocol/generated/grpc-health_pb.js';
import { file_grpc_reflection } from '../../protocol/generated/grpc-reflection_pb.js';
import { file_onboarding } from '../../protocol/generated/onboarding_pb.js';
import { file_tink_current } from '../../protocol/generated/tink-current_pb.js';
import { file_tink_legacy } from '../../protocol/generated/tink-legacy_pb.js';
import type { TinkDialect } from '../../protocol/tink-dialect.ts';
import type { AccessControl } from '../credentials/access.ts';
import type { AskingAgents } from '../nodes/asking-agents.ts';
import type { Onboarding } from '../nodes/onboarding.ts';
import type { ProofGate } from '../nodes/proof-gate.ts';
import type { Enrollment } from '../provisioning/enrollment.ts';
import type { StateHealth } from '../store/state-health.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { addHealthService } from './health-service.ts';
import { addOnboardingServices } from './onboarding-service.ts';
import { addReflectionService } from './reflection-service.ts';
import { addWorkflowService } from './workflow-service.ts';

export interface GrpcServerParts {
  /** Resolves when memory has what was committed anywhere before the call. */
  refresh: () => Promise<void>;
  workflows: Workflows;
  enrollment: Enrollment;
  askingAgents: AskingAgents;
  onboarding: Onboarding;
  gate: ProofGate;
  /** Undefined when the site asks for no tokens. */
  access: AccessControl | undefined;
  projectId: string;
  /** Whether the state folder takes writes. */
  state: StateHealth;
  dialects: readonly TinkDialect[];
  holdMs: number;
  isStrict: boolean;
  origin: (authority: string) => string;
  onDefect: (thrown: unknown) => void;
}

export interface GrpcServer {
  /** Takes a connection that speaks HTTP/2. */
  accept: (socket: Socket) => void;
  close: () => Promise<void>;
}

const SERVICES = [
  'onboardingmgr.v1.NonInteractiveOnboardingService',
  'onboardingmgr.v1.InteractiveOnboardingService',
  'proto.WorkflowService',
];

/** The gRPC side of the stub. It does not listen: the listeners hand it their connections. */
export function createGrpcServer(parts: GrpcServerParts): GrpcServer {
  const stopping = new AbortController();
  const server = new Server({
    // grpc-go's default, which the Go agents live with as well.
    'grpc.max_receive_message_length': 4 * 1024 * 1024,
    'grpc.max_send_message_length': 4 * 1024 * 1024,
    'grpc.max_concurrent_streams': 1000,
    // A peer that is gone, or never spoke HTTP/2 after the handshake, does not answer; one that has nothing to say may come back.
    'grpc.keepalive_time_ms': 60_000,
    'grpc.keepalive_timeout_ms': 20_000,
    'grpc.max_connection_idle_ms': 600_000,
    // Nobody reads grpc-js' own statistics, and they cost time with every call.
    'grpc.enable_channelz': 0,
  });
  const { access } = parts;
  const identify =
    access && ((metadata: Metadata) => access.identify(metadata.get('authorization')[0]?.toString()));
  addOnboardingServices(server, { ...parts, identify });
  addWorkflowService(server, {
    ...parts,
    identify,
    stopping: stopping.signal,
    isLetInBy: (hostId, signIn) => parts.onboarding.isLetInBy(hostId, signIn),
  });
  addHealthService(server, SERVICES, parts.state, stopping.signal, parts.onDefect);
  const tinkFiles = [
    ...(parts.dialects.includes('tink-legacy') ? [file_tink_legacy] : []),
    ...(parts.dialects.includes('tink-current') ? [file_tink_current] : []),
  ];
  addReflectionService(server, [...tinkFiles, file_onboarding, file_grpc_health, file_grpc_reflection]);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  return {
    accept: (socket) => injector.injectConnection(socket),
    close: async () => {
      stopping.abort();
      // The polls that are held get their answer out before the connections go.
      await setImmediate();
      await setImmediate();
      server.forceShutdown();
    },
  };
}
