import { randomBytes } from 'node:crypto';
import { nameOf } from '../../formats/tpm/public-area.ts';
import { KindlingError, toKindlingError } from '../../protocol/error.ts';
import {
  hashTranscript,
  isAnswer,
  type ProofTranscript,
  sealForProof,
} from '../../protocol/machine-proof.ts';
import { nodeKeyCode } from '../../protocol/sealed-secret.ts';
import { type Credential, makeCredential } from './make-credential.ts';
import type { VendorCertificates } from './vendor-certificates.ts';
import { type CheckedEvidence, type Evidence, verifyEvidence, type Want } from './verify-evidence.ts';

/** What one request of a stream says about the proof. */
export interface ProofSaying {
  uuid: string;
  serial: string;
  /** Empty for clients that are not ours. */
  key: Uint8Array;
  step?:
    | { kind: 'evidence'; evidence: Evidence }
    | { kind: 'answer'; answer: Uint8Array }
    | { kind: 'unable'; reason: string }
    | undefined;
}

export interface Proven {
  ekHash: string;
  /** Subject of the CA that certified the TPM; undefined without a certificate that the site trusts. */
  certifiedBy: string | undefined;
  /** Encrypts the client secret to the machine that proved itself. */
  seal: (clientSecret: string) => Buffer;
}

/** How far the proof of one stream is. */
export type ProofState =
  | { kind: 'wanted'; want: Want }
  | { kind: 'challenged'; credential: Credential }
  | { kind: 'proven'; proven: Proven }
  /** Not one of our agents, or an older one: it goes on as if nothing had been asked. */
  | { kind: 'silent' }
  /** It has no TPM that can prove anything; nodeKey is the code of the key of its boot, if it has one. */
  | { kind: 'unable'; reason: string; nodeKey?: string | undefined }
  | { kind: 'failed'; error: KindlingError };

interface OpenChallenge {
  secret: Buffer;
  transcript: Buffer;
  evidence: CheckedEvidence;
  certifiedBy: string | undefined;
}

/** Firmware, its settings, boot programs, Secure Boot, and what a boot loader and the kernel measured. */
const PCRS: readonly number[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const NONCE_SIZE = 32;
const SECRET_SIZE = 32;

/**
 * The proof of one machine on one stream: want, evidence, challenge, answer. Each nonce and each challenge is good once, on the stream it
 * was made for, for the UUID, serial and key that the stream began with.
 */
export class ProofExchange {
  readonly #vendors: VendorCertificates;
  #state: ProofState | undefined;
  #challenge: OpenChallenge | undefined;
  #first: ProofSaying | undefined;
  #isWantSent = false;

  constructor(vendors: VendorCertificates) {
    this.#vendors = vendors;
  }

  /** The want was sent: from now on a request without evidence is one of a client that has none. */
  wasSent(): void {
    this.#isWantSent = true;
  }

  /** One request; gives how far the proof is after it. What failed once stays failed until the stream is opened anew. */
  async hear(saying: ProofSaying): Promise<ProofState> {
    if (this.#state?.kind === 'failed') return this.#state;
    try {
      this.#requireSameMachine(saying);
      this.#state = await this.#next(saying);
    } catch (thrown) {
      this.#state = { kind: 'failed', error: toKindlingError(thrown) };
    }
    return this.#state;
  }

  async #next(saying: ProofSaying): Promise<ProofState> {
    const { step } = saying;
    const state = this.#state;
    if (step?.kind === 'unable') {
      const nodeKey = saying.key.length > 0 ? nodeKeyCode(saying.key) : undefined;
      return { kind: 'unable', reason: step.reason, nodeKey };
    }
    if (step?.kind === 'evidence') {
      if (state?.kind !== 'wanted') throw new KindlingError('KND_PROOF_QUOTE', 'nobody asked for this quote');
      return this.#challengeFor(saying, step.evidence, state.want);
    }
    if (step?.kind === 'answer') return this.#judge(step.answer);
    if (state?.kind === 'proven' || state?.kind === 'unable') return state;
    if (state?.kind === 'wanted' && !this.#isWantSent) return state;
    // Only agents that send a key of their boot know what a proof is. Any other goes on at once where the site lets it.
    if (state !== undefined || saying.key.length === 0) return { kind: 'silent' };
    return { kind: 'wanted', want: { nonce: randomBytes(NONCE_SIZE), pcrs: PCRS } };
  }

  async #challengeFor(saying: ProofSaying, evidence: Evidence, want: Want): Promise<ProofState> {
    const checked = verifyEvidence(evidence, want);
    const certifiedBy = await this.#vendors.certifierOf(evidence.ekCertificate, checked.ekKey);
    const secret = randomBytes(SECRET_SIZE);
    const credential = makeCredential(checked.ek, nameOf(checked.ak), secret);
    const transcript: ProofTranscript = {
      uuid: saying.uuid,
      serial: saying.serial,
      nodeKey: saying.key,
      nonce: want.nonce,
      ekPublic: evidence.ekPublic,
      akPublic: evidence.akPublic,
      ...credential,
    };
    this.#challenge = { secret, transcript: hashTranscript(transcript), evidence: checked, certifiedBy };
    return { kind: 'challenged', credential };
  }

  #judge(answer: Uint8Array): ProofState {
    const challenge = this.#challenge;
    this.#challenge = undefined;
    if (!challenge || !isAnswer(answer, challenge.secret, challenge.transcript))
      throw new KindlingError('KND_PROOF_ANSWER', 'the TPM with these keys did not open the challenge');
    const { secret, transcript, evidence, certifiedBy } = challenge;
    const seal = (clientSecret: string) => sealForProof(clientSecret, secret, transcript);
    return { kind: 'proven', proven: { ekHash: evidence.ekHash, certifiedBy, seal } };
  }

  #requireSameMachine(saying: ProofSaying): void {
    const first = this.#first;
    this.#first ??= saying;
    if (!first) return;
    const isSame =
      first.uuid === saying.uuid &&
      first.serial === saying.serial &&
      Buffer.compare(first.key, saying.key) === 0;
    if (!isSame) throw new KindlingError('KND_PROOF_ANSWER', 'another machine speaks on the same stream');
  }
}
