import { randomBytes } from 'node:crypto';
import { FieldReader, sized, u8, u16, u32 } from '../../formats/tpm/fields.ts';
import { ALGORITHM, COMMAND, HANDLE, TAG } from '../../formats/tpm/numbers.ts';
import {
  decodePcrSelection,
  encodePcrSelection,
  type PcrSelection,
} from '../../formats/tpm/pcr-selection.ts';
import { decodePublicArea, encodePublicArea, type PublicArea } from '../../formats/tpm/public-area.ts';
import { KindlingError } from '../../protocol/error.ts';
import { pause } from '../../system/wait.ts';
import type { TpmDevice } from './device.ts';

/** A key in the TPM. Transient ones are to be flushed. */
export interface LoadedKey {
  handle: number;
  area: PublicArea;
}

export interface SignedQuote {
  /** TPMS_ATTEST, the very bytes that were signed. */
  quote: Buffer;
  /** TPMT_SIGNATURE */
  signature: Buffer;
}

interface Command {
  code: keyof typeof COMMAND;
  handles?: readonly number[];
  /** Authorizations, one for each handle that needs one. */
  sessions?: readonly Buffer[];
  parameters?: readonly Buffer[];
}

/** Part 2, 6.6.3: the TPM is busy, or still tests itself, and wants to be asked again. */
const ASK_AGAIN: readonly number[] = [0x0922, 0x090a];
const MOST_TRIES = 500;
const BETWEEN_TRIES_MS = 10;
/** Part 2, 6.6.3 TPM_RC_HANDLE; bits 8 to 10 say which handle of the command it is. */
const NO_SUCH_HANDLE = 0x08b;
const WHICH_HANDLE = 0xf00;
/** What a TPM hands out of its NV memory at once is at least this. */
const NV_CHUNK = 512;
/** Part 2, 13.4 TPMA_NV: anyone who knows the (empty) password of the index may read it. */
const NV_AUTH_READ = 1 << 18;
/** Part 2, 8.4 TPMA_SESSION: the session lives on after the command. */
const CONTINUE_SESSION = 1;
/** Part 2, 6.11 TPM_SE */
const POLICY_SESSION = 1;
/** An empty password (Part 2, 10.13.2 TPMS_AUTH_COMMAND). */
const NO_PASSWORD = Buffer.concat([u32(HANDLE.password), sized(), u8(0), sized()]);

/** The commands of a TPM 2.0 that prove a machine ("Trusted Platform Module Library", Part 3; the clause is beside each). */
export class Tpm {
  readonly #device: TpmDevice;

  constructor(device: TpmDevice) {
    this.#device = device;
  }

  /** 24.1 TPM2_CreatePrimary, without a password. The same template gives the same key until the TPM is cleared. */
  async createPrimary(hierarchy: number, template: PublicArea): Promise<LoadedKey> {
    const noSecret = sized(Buffer.concat([sized(), sized()]));
    const { handle, fields } = await this.#runForHandle({
      code: 'createPrimary',
      handles: [hierarchy],
      sessions: [NO_PASSWORD],
      parameters: [noSecret, sized(encodePublicArea(template)), sized(), u32(0)],
    });
    return { handle, area: decodePublicArea(fields.sized()) };
  }

  /** 12.4 TPM2_ReadPublic; undefined if there is nothing behind the handle. */
  async readPublic(handle: number): Promise<PublicArea | undefined> {
    const fields = await this.#runIfThere({ code: 'readPublic', handles: [handle] });
    return fields && decodePublicArea(fields.sized());
  }

  /** 31.6 TPM2_NV_ReadPublic and 31.13 TPM2_NV_Read; undefined if there is no such index. */
  async readNv(index: number): Promise<Buffer | undefined> {
    const found = await this.#runIfThere({ code: 'nvReadPublic', handles: [index] });
    if (!found) return undefined;
    // Part 2, 13.5 TPMS_NV_PUBLIC
    const fields = new FieldReader(found.sized(), 'TPMS_NV_PUBLIC');
    fields.u32(); // the index itself
    fields.u16(); // hash of its name
    const attributes = fields.u32();
    fields.sized(); // policy
    const size = fields.u16();
    const authorizedBy = attributes & NV_AUTH_READ ? index : HANDLE.owner;
    const chunks: Buffer[] = [];
    for (let offset = 0; offset < size; offset += NV_CHUNK) {
      const part = await this.#run({
        code: 'nvRead',
        handles: [authorizedBy, index],
        sessions: [NO_PASSWORD],
        parameters: [u16(Math.min(NV_CHUNK, size - offset)), u16(offset)],
      });
      chunks.push(part.sized());
    }
    return Buffer.concat(chunks);
  }

  /** 18.4 TPM2_Quote, signed as the key's own scheme says. */
  async quote(key: LoadedKey, nonce: Uint8Array, selection: PcrSelection): Promise<SignedQuote> {
    const fields = await this.#run({
      code: 'quote',
      handles: [key.handle],
      sessions: [NO_PASSWORD],
      parameters: [sized(nonce), u16(ALGORITHM.none), encodePcrSelection([selection])],
    });
    return { quote: fields.sized(), signature: fields.rest() };
  }

  /** 22.4 TPM2_PCR_Read: a TPM gives a few registers at a time, and says which. */
  async readPcrs({ hash, pcrs }: PcrSelection): Promise<Map<number, Buffer>> {
    const values = new Map<number, Buffer>();
    for (let missing = pcrs; missing.length > 0; missing = pcrs.filter((pcr) => !values.has(pcr))) {
      const fields = await this.#run({
        code: 'pcrRead',
        parameters: [encodePcrSelection([{ hash, pcrs: missing }])],
      });
      fields.u32(); // how often registers were changed
      const given = decodePcrSelection(fields)[0]?.pcrs ?? [];
      if (given.length === 0) throw failed('pcrRead', 'gives no registers of this bank');
      fields.u32(); // count of the list
      for (const pcr of given) values.set(pcr, fields.sized());
    }
    return values;
  }

  /**
   * 12.5 TPM2_ActivateCredential: the TPM opens the credential only if the endorsement key is its own and the named attestation
   * key lies beside it. `idObject` and `encryptedSeed` are the contents of TPM2B_ID_OBJECT and TPM2B_ENCRYPTED_SECRET.
   */
  async activateCredential(
    attestationKey: LoadedKey,
    endorsementKey: LoadedKey,
    idObject: Uint8Array,
    encryptedSeed: Uint8Array,
  ): Promise<Buffer> {
    const session = await this.#startEndorsementSession();
    try {
      const bySession = Buffer.concat([u32(session), sized(), u8(CONTINUE_SESSION), sized()]);
      const fields = await this.#run({
        code: 'activateCredential',
        handles: [attestationKey.handle, endorsementKey.handle],
        sessions: [NO_PASSWORD, bySession],
        parameters: [sized(idObject), sized(encryptedSeed)],
      });
      return fields.sized();
    } finally {
      await this.flush(session);
    }
  }

  /** 28.4 TPM2_FlushContext */
  async flush(handle: number): Promise<void> {
    await this.#run({ code: 'flushContext', parameters: [u32(handle)] });
  }

  /** 11.1 TPM2_StartAuthSession and 23.4 TPM2_PolicySecret: the policy of every endorsement key. */
  async #startEndorsementSession(): Promise<number> {
    const { handle } = await this.#runForHandle({
      code: 'startAuthSession',
      handles: [HANDLE.none, HANDLE.none],
      parameters: [
        sized(randomBytes(16)),
        sized(),
        u8(POLICY_SESSION),
        u16(ALGORITHM.none),
        u16(ALGORITHM.sha256),
      ],
    });
    await this.#run({
      code: 'policySecret',
      handles: [HANDLE.endorsement, handle],
      sessions: [NO_PASSWORD],
      parameters: [sized(), sized(), sized(), u32(0)],
    });
    return handle;
  }

  async #run(command: Command): Promise<FieldReader> {
    const response = await this.#transmit(command);
    if (response.code !== 0) throw refusal(command.code, response.code);
    return parametersOf(command, response.fields);
  }

  async #runIfThere(command: Command): Promise<FieldReader | undefined> {
    const response = await this.#transmit(command);
    if ((response.code & ~WHICH_HANDLE) === NO_SUCH_HANDLE) return undefined;
    if (response.code !== 0) throw refusal(command.code, response.code);
    return response.fields;
  }

  async #runForHandle(command: Command): Promise<{ handle: number; fields: FieldReader }> {
    const response = await this.#transmit(command);
    if (response.code !== 0) throw refusal(command.code, response.code);
    const handle = response.fields.u32();
    return { handle, fields: parametersOf(command, response.fields) };
  }

  /** Part 1, 18: tag, size, code, handles, authorizations, parameters; and the response: tag, size, code. */
  async #transmit({ code, handles = [], sessions, parameters = [] }: Command) {
    const authorizations = Buffer.concat([...(sessions ?? [])]);
    const body = Buffer.concat([
      u32(COMMAND[code]),
      ...handles.map(u32),
      ...(sessions ? [u32(authorizations.length), authorizations] : []),
      ...parameters,
    ]);
    const tag = sessions ? TAG.sessions : TAG.noSessions;
    const command = Buffer.concat([u16(tag), u32(6 + body.length), body]);
    for (let tries = 1; ; tries += 1) {
      const fields = new FieldReader(await this.#device.transmit(command), `the response to ${nameOf(code)}`);
      fields.u16();
      fields.u32();
      const result = fields.u32();
      if (!ASK_AGAIN.includes(result) || tries === MOST_TRIES) return { code: result, fields };
      await pause(BETWEEN_TRIES_MS);
    }
  }
}

/** With sessions the parameters say their size, and the answers of the sessions stand behind them (Part 1, 18.10). */
function parametersOf({ code, sessions }: Command, fields: FieldReader): FieldReader {
  if (!sessions) return fields;
  return new FieldReader(fields.take(fields.u32()), `the response to ${nameOf(code)}`);
}

function refusal(command: keyof typeof COMMAND, code: number): KindlingError {
  return failed(command, `is answered with 0x${code.toString(16)}`);
}

function failed(command: keyof typeof COMMAND, what: string): KindlingError {
  return new KindlingError('KND_TPM_FAILED', `${nameOf(command)} ${what}`);
}

/** "TPM2_CreatePrimary", as the specification writes it. */
function nameOf(command: keyof typeof COMMAND): string {
  const special: Partial<Record<keyof typeof COMMAND, string>> = {
    nvRead: 'NV_Read',
    nvReadPublic: 'NV_ReadPublic',
    pcrRead: 'PCR_Read',
  };
  return `TPM2_${special[command] ?? command.charAt(0).toUpperCase() + command.slice(1)}`;
}
