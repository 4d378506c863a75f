import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Server, status } from '@grpc/grpc-js';
import {
  type CreateNodesRequest,
  CreateNodesResponseSchema,
  InteractiveOnboardingService,
  OnboardNodeStreamResponse_NodeState as NodeState,
  NonInteractiveOnboardingService,
  type OnboardNodeStreamRequest,
  OnboardNodeStreamResponseSchema,
} from '../../../protocol/generated/onboarding_pb.js';
import { type ServiceHandlers, serviceDefinition } from '../../../protocol/grpc-service.ts';

type Answer = MessageInitShape<typeof OnboardNodeStreamResponseSchema>;

/** One row of the reference server's response table: what it sends, and whether it closes the stream after it. */
export type Row =
  | { answer: Answer; closes: boolean }
  /** The RPC itself fails (Keycloak or inventory trouble after the answer). */
  | { grpcCode: status; details: string }
  /** Nothing at all: the stream just ends. */
  | { ends: true };

export const rows = {
  notFound: { answer: { status: { code: status.NOT_FOUND, message: 'Device not found' } }, closes: false },
  internal: { answer: { status: { code: status.INTERNAL, message: 'Internal server error' } }, closes: true },
  already: {
    answer: { status: { code: status.FAILED_PRECONDITION, message: 'Node is already HOST_STATE_ONBOARDED' } },
    closes: true,
  },
  unspecified: {
    answer: { status: { code: status.FAILED_PRECONDITION, message: 'The node state is unspecified' } },
    closes: true,
  },
  invalid: {
    answer: {
      status: {
        code: status.INVALID_ARGUMENT,
        message:
          'invalid OnboardNodeStreamRequest.Uuid: value must be a valid UUID | caused by: invalid uuid format',
      },
    },
    closes: true,
  },
  registered: {
    answer: { status: {}, nodeState: NodeState.REGISTERED, projectId: 'project-1' },
    closes: false,
  },
  onboarded: {
    answer: {
      status: {},
      nodeState: NodeState.ONBOARDED,
      clientId: 'edgenode-1',
      clientSecret: 'secret',
      projectId: 'project-1',
    },
    closes: true,
  },
  okWithoutState: { answer: { status: {} }, closes: true },
  onboardedWithoutSecret: {
    answer: { status: {}, nodeState: NodeState.ONBOARDED, clientId: 'edgenode-1', projectId: 'p' },
    closes: true,
  },
  keycloakDown: { grpcCode: status.INTERNAL, details: 'cannot create client credentials' },
  ends: { ends: true },
} as const satisfies Record<string, Row>;

/** Both onboarding services; each request takes the next row, the last row stays. */
export class OnboardingManager {
  rows: Row[];
  readonly requests: OnboardNodeStreamRequest[] = [];
  /** Streams the client has half-closed. */
  halfClosed = 0;
  streams = 0;
  readonly createNodes: { request: CreateNodesRequest; authorization: string }[] = [];
  /** project_id of each CreateNodes answer, or a gRPC code; the last stays. */
  createNodesAnswers: (string | status)[] = ['project-1'];

  constructor(...script: Row[]) {
    this.rows = script;
  }

  addTo = (server: Server): void => {
    server.addService(serviceDefinition(NonInteractiveOnboardingService), {
      onboardNodeStream: (call) => {
        this.streams += 1;
        call.on('error', () => {});
        call.on('data', (request: OnboardNodeStreamRequest) => {
          this.requests.push(request);
          const row = (this.rows.length > 1 ? this.rows.shift() : this.rows[0]) ?? rows.ends;
          if ('grpcCode' in row) call.emit('error', { code: row.grpcCode, details: row.details });
          else if ('ends' in row) call.end();
          else {
            call.write(create(OnboardNodeStreamResponseSchema, row.answer));
            if (row.closes) call.end();
          }
        });
        call.on('end', () => {
          this.halfClosed += 1;
          call.end();
        });
      },
    } satisfies ServiceHandlers<typeof NonInteractiveOnboardingService>);
    server.addService(serviceDefinition(InteractiveOnboardingService), {
      createNodes: (call, callback) => {
        const authorization = String(call.metadata.get('authorization')[0] ?? '');
        this.createNodes.push({ request: call.request, authorization });
        const answers = this.createNodesAnswers;
        const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? '';
        if (typeof answer === 'number') callback({ code: answer, details: 'scripted' });
        else {
          const { payload } = call.request;
          callback(null, create(CreateNodesResponseSchema, { payload, projectId: answer }));
        }
      },
    } satisfies ServiceHandlers<typeof InteractiveOnboardingService>);
  };
}
