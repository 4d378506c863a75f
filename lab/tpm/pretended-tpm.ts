import {
  constants,
  createDecipheriv,
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  privateDecrypt,
  sign,
} from 'node:crypto';
import { FieldReader, sized, u16, u32 } from '../../formats/tpm/fields.ts';
import { ALGORITHM } from '../../formats/tpm/numbers.ts';
import { encodePublicArea, nameOf, type PublicArea } from '../../formats/tpm/public-area.ts';
import { encodeQuote } from '../../formats/tpm/quote.ts';
import { ATTESTATION_KEYS, ENDORSEMENT_KEYS } from '../../formats/tpm/templates.ts';

const REGISTER = Buffer.alloc(32);

/**
 * The words of a TPM without one: keys in software that say of themselves what a TPM's keys say. A server cannot tell it from a TPM that
 * has no certificate, so a thousand proofs a second are possible, and so are inputs for a fuzzer.
 */
export class PretendedTpm {
  readonly #ek: PublicArea;
  readonly #ekKey: KeyObject;
  readonly #ak: PublicArea;
  readonly #akKey: KeyObject;

  constructor() {
    const ek = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const ak = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { n = '' } = ek.publicKey.export({ format: 'jwk' });
    const { x = '', y = '' } = ak.publicKey.export({ format: 'jwk' });
    const { template } = ENDORSEMENT_KEYS.rsa;
    const [akTemplate] = ATTESTATION_KEYS;
    if (template.key.kind !== 'rsa' || akTemplate?.key.kind !== 'ecc')
      throw new Error('the templates are of other kinds than this expects');
    this.#ek = { ...template, key: { ...template.key, modulus: Buffer.from(n, 'base64url') } };
    this.#ekKey = ek.privateKey;
    const point = { x: Buffer.from(x, 'base64url'), y: Buffer.from(y, 'base64url') };
    this.#ak = { ...akTemplate, key: { ...akTemplate.key, ...point } };
    this.#akKey = ak.privateKey;
  }

  /** A quote over registers that are all zero, with everything that is sent along. */
  showEvidence({ nonce, pcrs }: { nonce: Buffer; pcrs: readonly number[] }) {
    const pcrValues = pcrs.map(() => REGISTER);
    const quote = encodeQuote({
      qualifiedSigner: nameOf(this.#ak),
      extraData: nonce,
      clock: 0n,
      resetCount: 0,
      restartCount: 0,
      isClockSafe: true,
      firmwareVersion: 0n,
      selections: [{ hash: ALGORITHM.sha256, pcrs: [...pcrs] }],
      pcrDigest: createHash('sha256').update(Buffer.concat(pcrValues)).digest(),
    });
    const raw = sign('sha256', quote, { key: this.#akKey, dsaEncoding: 'ieee-p1363' });
    const signature = Buffer.concat([
      ...[u16(ALGORITHM.ecdsa), u16(ALGORITHM.sha256)],
      ...[sized(raw.subarray(0, 32)), sized(raw.subarray(32))],
    ]);
    return {
      ekPublic: encodePublicArea(this.#ek),
      ekCertificate: Buffer.alloc(0),
      akPublic: encodePublicArea(this.#ak),
      quote,
      signature,
      pcrValues,
      eventLog: Buffer.alloc(0),
    };
  }

  /** What TPM2_ActivateCredential gives (Part 3, 12.5), without its checks. */
  activate({ idObject, encryptedSeed }: { idObject: Buffer; encryptedSeed: Buffer }): Buffer {
    const seed = privateDecrypt(
      {
        key: this.#ekKey,
        padding: constants.RSA_PKCS1_OAEP_PADDING,
        oaepHash: 'sha256',
        oaepLabel: Buffer.from('IDENTITY\0'),
      },
      encryptedSeed,
    );
    const key = createHmac('sha256', seed)
      .update(u32(1))
      .update('STORAGE\0')
      .update(nameOf(this.#ak))
      .update(u32(128))
      .digest()
      .subarray(0, 16);
    const hmacBytes = 2 + idObject.readUInt16BE(0);
    const decipher = createDecipheriv('aes-128-cfb', key, Buffer.alloc(16));
    const opened = Buffer.concat([decipher.update(idObject.subarray(hmacBytes)), decipher.final()]);
    return new FieldReader(opened, 'TPM2B_DIGEST').sized();
  }
}
