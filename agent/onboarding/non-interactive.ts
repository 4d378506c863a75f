import type { ECDH } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { type Client, type ClientDuplexStream, status } from '@grpc/grpc-js';
import { KindlingError } from '../../protocol/error.ts';
import {
  OnboardNodeStreamResponse_NodeState as NodeState,
  NonInteractiveOnboardingService,
  type OnboardNodeStreamRequest,
  OnboardNodeStreamRequestSchema,
  type OnboardNodeStreamResponse,
} from '../../protocol/generated/onboarding_pb.js';
import { openBidiStream } from '../../protocol/grpc-service.ts';
import { openSecret } from '../../protocol/sealed-secret.ts';
import { pause } from '../../system/wait.ts';
import type { NodeFacts } from './node-facts.ts';
import { MachineProver, type ProofMessage, type ProvableMachine } from './prove-machine.ts';

export type StreamOutcome =
  | { kind: 'onboarded'; clientId: string; clientSecret: string; projectId: string }
  | { kind: 'not-found' };

export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** The server knows the node, and waits for a person to let it in. */
  onRegistered?: (projectId: string, nextAskMs: number) => void;
  /** The machine has proven itself, and somebody is to type this code on the server. */
  onApprovalCode?: (code: string, nextAskMs: number) => void;
  /** Asked where the server wants a proof of the machine. */
  machine: ProvableMachine;
  /** The key of this boot: a server of ours encrypts the client secret to it, and knows by it that no other machine asks. */
  nodeKey: ECDH;
  /** 1 in production; tests make time pass faster. */
  pace?: number;
}

/** Want and challenge are answered at once. A server that goes on asking is answered at the pace of every other. */
const PROOF_STEPS = 2;
const REGISTERED_DELAYS_S = [2, 4, 8, 16, 32];

/** After 32 s it starts again at 2 s, as device-discovery does. */
export function registeredDelayMs(asked: number, random = Math.random): number {
  const seconds = REGISTERED_DELAYS_S[asked % REGISTERED_DELAYS_S.length] ?? 2;
  return seconds * 1000 + Math.floor(random() * 1000);
}

/**
 * One onboarding stream: asks until the node is onboarded or the server does not know it. The outcome is inside the messages;
 * the RPC itself ends OK. Throws a named error for every other answer, or grpc-js' error when the stream breaks.
 */
export async function onboardOverStream(
  client: Client,
  facts: NodeFacts,
  options: StreamOptions,
): Promise<StreamOutcome> {
  const stream = openBidiStream(
    client,
    NonInteractiveOnboardingService.method.onboardNodeStream,
    options.signal ? { signal: options.signal } : {},
  );
  const nodeKey = options.nodeKey.getPublicKey();
  await using prover = new MachineProver(options.machine, {
    uuid: facts.uuid,
    serial: facts.serial,
    nodeKey,
  });
  const request = {
    uuid: facts.uuid,
    serialnum: facts.serial,
    macId: facts.mac,
    hostIp: facts.ip,
    nodeKey,
  };
  try {
    const answers = stream[Symbol.asyncIterator]() as AsyncIterator<OnboardNodeStreamResponse>;
    let proof: ProofMessage | undefined;
    let proofSteps = 0;
    for (let asked = 0; ; asked += 1) {
      const message = create(OnboardNodeStreamRequestSchema, { ...request, ...(proof ? { proof } : {}) });
      const answer = await ask(stream, answers, message);
      const outcome = judge(answer, options.nodeKey, prover);
      if (outcome !== 'registered') return outcome;
      proof = await nextProofStep(answer, prover);
      if (proof && proofSteps < PROOF_STEPS) {
        proofSteps += 1;
        asked = -1;
        continue;
      }
      const waitMs = registeredDelayMs(asked) * (options.pace ?? 1);
      const step = answer.proof?.step;
      if (step?.case === 'approvalCode') options.onApprovalCode?.(step.value, waitMs);
      else options.onRegistered?.(answer.projectId, waitMs);
      await pause(waitMs, options.signal);
    }
  } finally {
    // After NotFound the server keeps its side open and waits for another request: it is on us to close.
    stream.end();
    stream.on('error', () => {});
    setTimeout(() => stream.cancel(), 1000).unref();
  }
}

/** What is said next about the proof; undefined where the server asks for nothing. */
async function nextProofStep(
  { proof }: OnboardNodeStreamResponse,
  prover: MachineProver,
): Promise<ProofMessage | undefined> {
  if (proof?.step.case === 'want') return prover.showEvidence(proof.step.value);
  if (proof?.step.case === 'challenge') return prover.answer(proof.step.value);
  return undefined;
}

async function ask(
  stream: ClientDuplexStream<OnboardNodeStreamRequest, OnboardNodeStreamResponse>,
  answers: AsyncIterator<OnboardNodeStreamResponse>,
  request: OnboardNodeStreamRequest,
): Promise<OnboardNodeStreamResponse> {
  stream.write(request);
  const { done, value } = await answers.next();
  if (done)
    throw new KindlingError(
      'KND_ONBOARD_CLOSED',
      'the onboarding server closed the stream without an answer',
    );
  return value;
}

/** What an answer means. OK with an unspecified state is an error too: the server has told us nothing. */
function judge(
  answer: OnboardNodeStreamResponse,
  nodeKey: ECDH,
  prover: MachineProver,
): StreamOutcome | 'registered' {
  const { code, message } = answer.status ?? { code: -1, message: 'no status' };
  if (code === status.NOT_FOUND) return { kind: 'not-found' };
  if (code === status.FAILED_PRECONDITION) {
    if (message.includes('already HOST_STATE_ONBOARDED')) {
      throw new KindlingError(
        'KND_ONBOARD_ALREADY',
        'the onboarding server knows this node as one that runs its system',
      );
    }
    throw new KindlingError('KND_ONBOARD_REFUSED', `the onboarding server refuses this node: ${message}`);
  }
  if (code === status.INVALID_ARGUMENT) {
    throw new KindlingError(
      'KND_ONBOARD_INVALID',
      `the onboarding server rejects what the node reports: ${message}`,
    );
  }
  if (code !== status.OK) {
    const name = status[code] ?? `code ${code}`;
    throw new KindlingError('KND_ONBOARD_FAILED', `the onboarding server answered ${name}: ${message}`);
  }
  if (answer.nodeState === NodeState.REGISTERED) return 'registered';
  const { clientId, projectId } = answer;
  const clientSecret = secretOf(answer, nodeKey, prover);
  if (answer.nodeState !== NodeState.ONBOARDED) {
    throw new KindlingError('KND_ONBOARD_FAILED', 'the onboarding server answered OK without saying a state');
  }
  if (clientId === '' || clientSecret === '' || projectId === '') {
    throw new KindlingError('KND_ONBOARD_FAILED', 'the onboarding server sent ONBOARDED without credentials');
  }
  return { kind: 'onboarded', clientId, clientSecret, projectId };
}

/** In the form it was sent in: for the TPM that opened the challenge, for the key of this boot, or (EMF's servers) in clear. */
function secretOf(
  { provenSecret, sealedSecret, clientSecret }: OnboardNodeStreamResponse,
  nodeKey: ECDH,
  prover: MachineProver,
): string {
  if (provenSecret.length > 0) return prover.openSecret(provenSecret) ?? '';
  return sealedSecret.length > 0 ? (openSecret(sealedSecret, nodeKey) ?? '') : clientSecret;
}
