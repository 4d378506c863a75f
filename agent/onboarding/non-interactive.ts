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

export type StreamOutcome =
  | { kind: 'onboarded'; clientId: string; clientSecret: string; projectId: string }
  | { kind: 'not-found' };

export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** The server knows the node, and waits for a person to let it in. */
  onRegistered?: (projectId: string, nextAskMs: number) => void;
  /** The key of this boot: a server of ours encrypts the client secret to it, and knows by it that no other machine asks. */
  nodeKey: ECDH;
  /** 1 in production; tests make time pass faster. */
  pace?: number;
}

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
  const request = create(OnboardNodeStreamRequestSchema, {
    uuid: facts.uuid,
    serialnum: facts.serial,
    macId: facts.mac,
    hostIp: facts.ip,
    nodeKey: options.nodeKey.getPublicKey(),
  });
  try {
    const answers = stream[Symbol.asyncIterator]() as AsyncIterator<OnboardNodeStreamResponse>;
    for (let asked = 0; ; asked += 1) {
      const answer = await ask(stream, answers, request);
      const outcome = judge(answer, options.nodeKey);
      if (outcome !== 'registered') return outcome;
      const waitMs = registeredDelayMs(asked) * (options.pace ?? 1);
      options.onRegistered?.(answer.projectId, waitMs);
      await pause(waitMs, options.signal);
    }
  } finally {
    // After NotFound the server keeps its side open and waits for another request: it is on us to close.
    stream.end();
    stream.on('error', () => {});
    setTimeout(() => stream.cancel(), 1000).unref();
  }
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
function judge(answer: OnboardNodeStreamResponse, nodeKey: ECDH): StreamOutcome | 'registered' {
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
  const clientSecret =
    answer.sealedSecret.length > 0 ? (openSecret(answer.sealedSecret, nodeKey) ?? '') : answer.clientSecret;
  if (answer.nodeState !== NodeState.ONBOARDED) {
    throw new KindlingError('KND_ONBOARD_FAILED', 'the onboarding server answered OK without saying a state');
  }
  if (clientId === '' || clientSecret === '' || projectId === '') {
    throw new KindlingError('KND_ONBOARD_FAILED', 'the onboarding server sent ONBOARDED without credentials');
  }
  return { kind: 'onboarded', clientId, clientSecret, projectId };
}
