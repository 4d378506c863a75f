import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  Metadata,
  type Server,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
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
  type ProofRequestSchema,
} from '../../protocol/generated/onboarding_pb.js';
import { serviceDefinition } from '../../protocol/grpc-service.ts';
import { PROOF_HEADER } from '../../protocol/machine-proof.ts';
import type { Caller } from '../credentials/access.ts';
import type { KnockAnswer, Onboarding } from '../nodes/onboarding.ts';
import { findFault, type Knock } from '../nodes/onboarding-request.ts';
import type { ProofGate, ProofStep } from '../nodes/proof-gate.ts';
import { hasRight } from '../people/rights.ts';
import { peerAddress } from './peer-address.ts';
import { decideProject } from './project.ts';
import { refusal, toRefusal } from './refusal.ts';

export interface OnboardingServiceParts {
  onboarding: Onboarding;
  gate: ProofGate;
  identify: ((metadata: Metadata) => Promise<Caller>) | undefined;
  projectId: string;
  isStrict: boolean;
  /** Told about whatever should not have happened. */
  onDefect: (thrown: unknown) => void;
  /** Turns the authority a node called into an address for later. */
  origin: (authority: string) => string;
}

/** Of what a machine says why it cannot prove itself: it goes into the status of the node. */
const LONGEST_REASON = 200;

/** Both onboarding services of EMF. The stream asks for no token: who knows UUID and serial of a registered host gets in. */
export function addOnboardingServices(server: Server, parts: OnboardingServiceParts): void {
  server.addService(serviceDefinition(NonInteractiveOnboardingService), { onboardNodeStream });
  server.addService(serviceDefinition(InteractiveOnboardingService), { createNodes });

  function onboardNodeStream(
    call: ServerDuplexStream<OnboardNodeStreamRequest, OnboardNodeStreamResponse>,
  ): void {
    let isOver = false;
    let answering: Promise<void> = Promise.resolve();
    const exchange = parts.isStrict ? undefined : parts.gate.openExchange();
    if (exchange) call.sendMetadata(proofHeader());
    const answerKnock = async (request: OnboardNodeStreamRequest) => {
      const answer = await parts.onboarding.knock(
        knockOf(request),
        parts.origin(call.getHost()),
        peerAddress(call.getPeer()),
        exchange,
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

function proofHeader(): Metadata {
  const header = new Metadata();
  header.set(PROOF_HEADER, '1');
  return header;
}

function knockOf(request: OnboardNodeStreamRequest): Knock {
  const { uuid, serialnum, macId, hostIp, nodeKey, proof } = request;
  return { uuid, serial: serialnum, mac: macId, ip: hostIp, key: nodeKey, proof: proofStepOf(proof?.step) };
}

function proofStepOf(
  step: NonNullable<OnboardNodeStreamRequest['proof']>['step'] | undefined,
): Knock['proof'] {
  switch (step?.case) {
    case 'evidence':
      return { kind: 'evidence', evidence: step.value };
    case 'answer':
      return { kind: 'answer', answer: step.value };
    case 'unable':
      return { kind: 'unable', reason: step.value.slice(0, LONGEST_REASON).replaceAll(/[^ -~]/g, '?') };
    default:
      return undefined;
  }
}

function proofRequest(step: ProofStep): MessageInitShape<typeof ProofRequestSchema> {
  switch (step.kind) {
    case 'want':
      return { step: { case: 'want', value: { nonce: step.want.nonce, pcrs: [...step.want.pcrs] } } };
    case 'challenge':
      return { step: { case: 'challenge', value: step.credential } };
    case 'approval':
      return { step: { case: 'approvalCode', value: step.code } };
  }
}

function streamResponse(answer: KnockAnswer): OnboardNodeStreamResponse {
  const nodeState = {
    UNSPECIFIED: NodeState.UNSPECIFIED,
    REGISTERED: NodeState.REGISTERED,
    ONBOARDED: NodeState.ONBOARDED,
  }[answer.state];
  const isSecretSealed = answer.sealedSecret !== undefined || answer.provenSecret !== undefined;
  return create(OnboardNodeStreamResponseSchema, {
    status: { code: answer.code, message: answer.message },
    nodeState,
    clientId: answer.client?.clientId ?? '',
    clientSecret: isSecretSealed ? '' : (answer.client?.secret ?? ''),
    sealedSecret: answer.sealedSecret ?? new Uint8Array(),
    provenSecret: answer.provenSecret ?? new Uint8Array(),
    ...(answer.proof ? { proof: proofRequest(answer.proof) } : {}),
    projectId: answer.host?.projectId ?? '',
  });
}
