import { HANDLE } from '../../formats/tpm/numbers.ts';
import type { PublicArea } from '../../formats/tpm/public-area.ts';
import { ATTESTATION_KEYS, ENDORSEMENT_KEYS, isMadeFrom } from '../../formats/tpm/templates.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { LoadedKey, Tpm } from './commands.ts';

export interface EndorsementKey extends LoadedKey {
  /** DER, as the maker of the TPM put it there; many have none. */
  certificate: Buffer | undefined;
  /** It lies in the TPM for good: it is not ours to flush. */
  isPersistent: boolean;
}

/** The maker's key: RSA where the TPM has one, because that is the one that other tools list and most makers certify. */
export async function loadEndorsementKey(
  tpm: Tpm,
  kinds: readonly (keyof typeof ENDORSEMENT_KEYS)[] = ['rsa', 'ecc'],
): Promise<EndorsementKey> {
  return firstThatWorks(kinds, async (kind) => {
    const { template, persistent, certificateIndex } = ENDORSEMENT_KEYS[kind];
    const certificate = trimDer(await tpm.readNv(certificateIndex));
    const kept = await tpm.readPublic(persistent).catch(() => undefined); // another kind of key lies there
    if (kept && isMadeFrom(template, kept)) {
      return { handle: persistent, area: kept, certificate, isPersistent: true };
    }
    return { ...(await tpm.createPrimary(HANDLE.endorsement, template)), certificate, isPersistent: false };
  });
}

/** A key that signs only what this TPM says of itself. */
export function makeAttestationKey(tpm: Tpm): Promise<LoadedKey> {
  return firstThatWorks<PublicArea, LoadedKey>(ATTESTATION_KEYS, (template) =>
    tpm.createPrimary(HANDLE.endorsement, template),
  );
}

/** A TPM need not know every kind of key. The refusal of the last one is told. */
async function firstThatWorks<Kind, Key>(
  kinds: readonly Kind[],
  load: (kind: Kind) => Promise<Key>,
): Promise<Key> {
  let refusal: unknown = new KindlingError('KND_TPM_FAILED', 'the TPM was asked for no kind of key');
  for (const kind of kinds) {
    try {
      return await load(kind);
    } catch (thrown) {
      refusal = thrown;
    }
  }
  throw refusal;
}

/** NV memory is set aside before the certificate is known: what stands behind it is filling. */
function trimDer(bytes: Buffer | undefined): Buffer | undefined {
  const isSequence = bytes !== undefined && bytes.length > 4 && bytes.readUInt16BE(0) === 0x3082;
  return isSequence ? bytes.subarray(0, 4 + bytes.readUInt16BE(2)) : undefined;
}
