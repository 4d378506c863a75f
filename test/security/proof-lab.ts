import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { onboardOverStream, type StreamOutcome } from '../../agent/onboarding/non-interactive.ts';
import type { ProvableMachine } from '../../agent/onboarding/prove-machine.ts';
import type { SoftwareTpm } from '../../lab/tpm/software-tpm.ts';
import {
  NonInteractiveOnboardingService,
  OnboardNodeStreamRequestSchema,
  type OnboardNodeStreamResponse,
} from '../../protocol/generated/onboarding_pb.js';
import { openBidiStream } from '../../protocol/grpc-service.ts';
import { makeNodeKey } from '../../protocol/sealed-secret.ts';
import { NODE, type RunningStub } from '../orchestrator-stub/running-stub.ts';

export const FACTS = { uuid: NODE.uuid, serial: NODE.serialnum, mac: NODE.macId, ip: NODE.hostIp };

/** A machine with this TPM; without one where it is undefined. */
export function machineWith(tpm: SoftwareTpm | undefined, eventLog?: Uint8Array): ProvableMachine {
  return {
    openTpm: () => tpm?.open() ?? Promise.reject(new Error('this machine shows no TPM 2.0')),
    eventLog: () => eventLog,
  };
}

/** The real agent's onboarding, until it is in, refused or `signal` fires. */
export function onboardAgent(
  running: RunningStub,
  machine: ProvableMachine,
  options: {
    signal?: AbortSignal;
    onApprovalCode?: (code: string) => void;
    nodeKey?: ReturnType<typeof makeNodeKey>;
  } = {},
): Promise<StreamOutcome> {
  const nodeKey = options.nodeKey ?? makeNodeKey();
  return onboardOverStream(running.client(), FACTS, { pace: 0.01, ...options, machine, nodeKey });
}

/** A stream whose every message is written by the test. */
export class Conversation {
  readonly #call;
  readonly #answers;

  constructor(running: RunningStub) {
    this.#call = openBidiStream(running.client(), NonInteractiveOnboardingService.method.onboardNodeStream);
    this.#answers = this.#call[Symbol.asyncIterator]() as AsyncIterator<OnboardNodeStreamResponse>;
  }

  async say(
    request: MessageInitShape<typeof OnboardNodeStreamRequestSchema>,
  ): Promise<OnboardNodeStreamResponse> {
    this.#call.write(create(OnboardNodeStreamRequestSchema, { ...NODE, ...request }));
    const { done, value } = await this.#answers.next();
    if (done) throw new Error('the server closed the stream');
    return value;
  }

  end(): void {
    this.#call.end();
  }
}

/** Nothing in this answer is of use to a stranger. */
export function hasNoSecret(answer: OnboardNodeStreamResponse): boolean {
  const { clientId, clientSecret, sealedSecret, provenSecret } = answer;
  return clientId === '' && clientSecret === '' && sealedSecret.length === 0 && provenSecret.length === 0;
}
