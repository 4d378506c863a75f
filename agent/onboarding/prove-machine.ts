import type { MessageInitShape } from '@bufbuild/protobuf';
import { ALGORITHM } from '../../formats/tpm/numbers.ts';
import { encodePublicArea } from '../../formats/tpm/public-area.ts';
import { toKindlingError } from '../../protocol/error.ts';
import type {
  MachineProofSchema,
  ProofChallenge,
  ProofWant,
} from '../../protocol/generated/onboarding_pb.js';
import { answerChallenge, hashTranscript, openFromProof } from '../../protocol/machine-proof.ts';
import { machineFiles } from '../../system/machine-files.ts';
import { type LoadedKey, Tpm } from '../tpm/commands.ts';
import { openTpmDevice, type TpmDevice } from '../tpm/device.ts';
import { type EndorsementKey, loadEndorsementKey, makeAttestationKey } from '../tpm/machine-keys.ts';

/** What the agent needs of a machine to prove it. */
export interface ProvableMachine {
  /** Throws KND_TPM_NONE where there is none. */
  openTpm: () => Promise<TpmDevice>;
  /** What the firmware measured; undefined where the kernel has no log. */
  eventLog: () => Uint8Array | undefined;
}

/** Where the kernel shows the log (drivers/char/tpm/eventlog). */
const EVENT_LOG = '/sys/kernel/security/tpm0/binary_bios_measurements';

export const machineWithTpm: ProvableMachine = {
  openTpm: () => openTpmDevice(),
  eventLog: () => machineFiles().bytes(EVENT_LOG),
};

/** Who the machine says it is, on the stream that it proves itself on. */
export interface ProvenAs {
  uuid: string;
  serial: string;
  nodeKey: Uint8Array;
}

export type ProofMessage = MessageInitShape<typeof MachineProofSchema>;

interface Session {
  device: TpmDevice;
  tpm: Tpm;
  ek: EndorsementKey;
  ak: LoadedKey;
  nonce: Uint8Array;
}

/** Proves one machine on one stream. Keys stay loaded between the question and the challenge. */
export class MachineProver implements AsyncDisposable {
  readonly #machine: ProvableMachine;
  readonly #as: ProvenAs;
  #session: Session | undefined;
  #opened: { secret: Buffer; transcript: Buffer } | undefined;

  constructor(machine: ProvableMachine, as: ProvenAs) {
    this.#machine = machine;
    this.#as = as;
  }

  /** The answer to a want: keys, quote and event log; or why there are none. */
  async showEvidence(want: ProofWant): Promise<ProofMessage> {
    return this.#attempt(async () => {
      const { tpm, ek, ak } = await this.#begin(want.nonce);
      const selection = { hash: ALGORITHM.sha256, pcrs: want.pcrs };
      const { quote, signature } = await tpm.quote(ak, want.nonce, selection);
      const values = await tpm.readPcrs(selection);
      const value = {
        ekPublic: encodePublicArea(ek.area),
        ekCertificate: ek.certificate ?? new Uint8Array(),
        akPublic: encodePublicArea(ak.area),
        quote,
        signature,
        pcrValues: want.pcrs.map((pcr) => values.get(pcr) ?? new Uint8Array()),
        eventLog: this.#machine.eventLog() ?? new Uint8Array(),
      };
      return { step: { case: 'evidence', value } };
    });
  }

  /** The answer to a challenge, which only this TPM can give. */
  async answer({ idObject, encryptedSeed }: ProofChallenge): Promise<ProofMessage> {
    return this.#attempt(async () => {
      const session = this.#session;
      if (!session) return { step: { case: 'unable', value: 'there was no question before the challenge' } };
      const { tpm, ak, ek, nonce } = session;
      const secret = await tpm.activateCredential(ak, ek, idObject, encryptedSeed);
      const transcript = hashTranscript({
        ...this.#as,
        nonce,
        ekPublic: encodePublicArea(ek.area),
        akPublic: encodePublicArea(ak.area),
        idObject,
        encryptedSeed,
      });
      this.#opened = { secret, transcript };
      return { step: { case: 'answer', value: answerChallenge(secret, transcript) } };
    });
  }

  /** The client secret that was encrypted to the challenge; undefined if it was not this one's. */
  openSecret(sealed: Uint8Array): string | undefined {
    return this.#opened && openFromProof(sealed, this.#opened.secret, this.#opened.transcript);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (!session) return;
    const { device, tpm, ek, ak } = session;
    try {
      await tpm.flush(ak.handle);
      if (!ek.isPersistent) await tpm.flush(ek.handle);
    } finally {
      await device[Symbol.asyncDispose]();
    }
  }

  async #begin(nonce: Uint8Array): Promise<Session> {
    await this[Symbol.asyncDispose]();
    const device = await this.#machine.openTpm();
    try {
      const tpm = new Tpm(device);
      const ek = await loadEndorsementKey(tpm);
      const ak = await makeAttestationKey(tpm);
      this.#session = { device, tpm, ek, ak, nonce };
      return this.#session;
    } catch (thrown) {
      await device[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** A machine that cannot prove itself says why: what follows is for the server to decide. */
  async #attempt(work: () => Promise<ProofMessage>): Promise<ProofMessage> {
    try {
      return await work();
    } catch (thrown) {
      const { code, message } = toKindlingError(thrown);
      return { step: { case: 'unable', value: `${code}: ${message}` } };
    }
  }
}
