import { create } from '@bufbuild/protobuf';
import {
  type Metadata,
  type Server,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { plainAddress } from '../../net/address-group.ts';
import {
  type CreateNodesRequest,
  type CreateNodesResponse,
  CreateNodesResponseSchema,
  InteractiveOnboardingService,
  OnboardNodeStreamResponse_NodeState as NodeState,
  NonInteractiveOnboardingService,
  type OnboardNodeStreamRequest,
  type OnboardNodeStreamResponse,
  OnboardNodeStreamResponseSchema,
} from '../../protocol/generated/onboarding_pb.js';
import { serviceDefinition } from '../../protocol/grpc-service.ts';
import type { Caller } from '../credentials/access.ts';
import type { KnockAnswer, Onboarding } from '../nodes/onboarding.ts';
import { findFault } from '../nodes/onboarding-request.ts';
import { hasRight } from '../people/rights.ts';
import { decideProject } from './project.ts';
import { refusal, toRefusal } from './refusal.ts';

export interface OnboardingServiceParts {
  onboarding: Onboarding;
  identify: ((metadata: Metadata) => Promise<Caller>) | undefined;
  projectId: string;
  isStrict: boolean;
  /** Told about whatever should not have happened. */
  onDefect: (thrown: unknown) => void;
  /** Turns the authority a node called into an address for later. */
  origin: (authority: string) => string;
}

/** Both onboarding services of EMF. The stream asks for no token: who knows UUID and serial of a registered host gets in. */
export function addOnboardingServices(server: Server, parts: OnboardingServiceParts): void {
  server.addService(serviceDefinition(NonInteractiveOnboardingService), { onboardNodeStream });
  server.addService(serviceDefinition(InteractiveOnboardingService), { createNodes });

  function onboardNodeStream(
    call: ServerDuplexStream<OnboardNodeStreamRequest, OnboardNodeStreamResponse>,
  ): void {
    let isOver = false;
    let answering: Promise<void> = Promise.resolve();
    const answerKnock = async ({ uuid, serialnum, macId, hostIp, nodeKey }: OnboardNodeStreamRequest) => {
      const knock = { uuid, serial: serialnum, mac: macId, ip: hostIp, key: nodeKey };
      const answer = await parts.onboarding.knock(
        knock,
        parts.origin(call.getHost()),
        peerAddress(call.getPeer()),
      );
      if (!isOver) call.write(streamResponse(answer));
      if (answer.isStreamKept) return;
      if (!isOver) call.end();
      isOver = true;
      if (answer.state === 'ONBOARDED' && answer.host) parts.onboarding.afterOnboarded(answer.host);
    };
    call.on('data', (request: OnboardNodeStreamRequest) => {
      if (isOver) return;
      // One knock after the other, and the end of the stream after the last answer: "end" comes also while the stream is paused.
      call.pause();
      answering = answerKnock(request)
        .catch((thrown: unknown) => {
          const answer = toRefusal(thrown, parts.onDefect);
          if (isOver) return;
          isOver = true;
          call.emit('error', answer);
        })
        .finally(() => call.resume());
    });
    call.on('end', () => {
      void answering.then(() => {
        if (!isOver) call.end();
        isOver = true;
      });
    });
    call.on('error', () => {
      isOver = true;
    });
  }

  function createNodes(
    call: ServerUnaryCall<CreateNodesRequest, CreateNodesResponse>,
    callback: sendUnaryData<CreateNodesResponse>,
  ): void {
    answerCreateNodes(call).then(
      (response) => callback(null, response),
      (thrown: unknown) => callback(toRefusal(thrown, parts.onDefect)),
    );
  }

  async function answerCreateNodes(
    call: ServerUnaryCall<CreateNodesRequest, CreateNodesResponse>,
  ): Promise<CreateNodesResponse> {
    const caller = await parts.identify?.(call.metadata);
    const active = call.metadata.get('activeprojectid')[0]?.toString();
    const roles = caller
      ? caller.kind === 'person'
        ? hasRight(caller.person.role, 'nodes:install')
          ? [`${parts.projectId}_en-ob`]
          : []
        : caller.roles
      : undefined;
    const project = decideProject(active, roles, parts.projectId);
    const hwdata = call.request.payload[0]?.hwdata[0];
    // EMF crashes here (docs/background/emf.md#interactive-onboarding).
    if (!hwdata) throw refusal(status.INVALID_ARGUMENT, 'the payload names no hardware');
    const knock = { uuid: hwdata.uuid, serial: hwdata.serialnum, mac: hwdata.macId, ip: hwdata.sutIp };
    const fault = findFault(knock, 'HwData');
    if (fault && fault.field !== 'Serialnum') {
      const path =
        'invalid CreateNodesRequest.Payload[0]: embedded message failed validation | caused by: ' +
        'invalid NodeData.Hwdata[0]: embedded message failed validation | caused by: ';
      throw refusal(status.UNKNOWN, path + fault.message);
    }
    if (!project.isAllowed) throw refusal(status.PERMISSION_DENIED, 'Request is blocked by RBAC');
    const { isNew } = await parts.onboarding.createNode(knock, parts.origin(call.getHost()), {
      hostId: caller?.kind === 'node' ? caller.hostId : undefined,
      signIn: caller?.kind === 'user' ? caller.signIn : undefined,
    });
    return create(CreateNodesResponseSchema, {
      payload: call.request.payload,
      // EMF reads the project of a new host before there is one.
      projectId: isNew && parts.isStrict ? '' : project.id,
    });
  }
}

/** grpc-js gives «10.0.0.7:40000» or «::ffff:10.0.0.7:40000». */
function peerAddress(peer: string): string {
  return plainAddress(peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''));
}

function streamResponse(answer: KnockAnswer): OnboardNodeStreamResponse {
  const nodeState = {
    UNSPECIFIED: NodeState.UNSPECIFIED,
    REGISTERED: NodeState.REGISTERED,
    ONBOARDED: NodeState.ONBOARDED,
  }[answer.state];
  return create(OnboardNodeStreamResponseSchema, {
    status: { code: answer.code, message: answer.message },
    nodeState,
    clientId: answer.client?.clientId ?? '',
    clientSecret: answer.sealedSecret ? '' : (answer.client?.secret ?? ''),
    sealedSecret: answer.sealedSecret ?? new Uint8Array(),
    projectId: answer.host?.projectId ?? '',
  });
}
