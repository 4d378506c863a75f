import { expect, test } from 'vitest';
import { decideProof, type ProofQuestion } from '../../../orchestrator-stub/proof/decide-proof.ts';
import type { ProofState } from '../../../orchestrator-stub/proof/proof-exchange.ts';
import { KindlingError } from '../../../protocol/error.ts';

const EK = 'ab'.repeat(32);
const SILENT: ProofState = { kind: 'silent' };
const UNABLE: ProofState = { kind: 'unable', reason: 'no TPM', nodeKey: 'k1' };
const FAILED: ProofState = { kind: 'failed', error: new KindlingError('KND_PROOF_QUOTE', 'stale') };
const proven = (certifiedBy?: string): ProofState => ({
  kind: 'proven',
  proven: { ekHash: EK, certifiedBy, seal: () => Buffer.alloc(0) },
});

const APPROVAL = { requirement: 'when-possible', trust: 'approval' } as const;

/** The kind of the decision, or the code of the refusal. */
function decided(question: Partial<ProofQuestion>): string {
  const decision = decideProof({
    ...{ requirement: 'required', trust: 'first-use', knownEkHash: undefined },
    ...{ approvedKey: undefined, otherNode: undefined },
    state: proven(),
    ...question,
  });
  return decision.kind === 'refuse' ? decision.error.code : decision.kind;
}

test.each([
  ['off asks for nothing', { requirement: 'off', state: SILENT }, 'unproven'],
  ['off does not look at a failed proof', { requirement: 'off', state: FAILED }, 'unproven'],
  ['an old client comes in when possible', { requirement: 'when-possible', state: SILENT }, 'unproven'],
  ['an old client waits where required', { state: SILENT }, 'wait'],
  ['no TPM, when possible', { requirement: 'when-possible', state: UNABLE }, 'unproven'],
  ['no TPM, required', { state: UNABLE }, 'KND_PROOF_NO_TPM'],
  ['never again without', { requirement: 'when-possible', state: SILENT, knownEkHash: EK }, 'wait'],
  [
    'a TPM that went away',
    { requirement: 'when-possible', state: UNABLE, knownEkHash: EK },
    'KND_PROOF_NO_TPM',
  ],
  [
    'a failed proof is refused when possible, too',
    { requirement: 'when-possible', state: FAILED },
    'KND_PROOF_QUOTE',
  ],
  ['first use', {}, 'proven'],
  ['the known TPM', { trust: 'listed', knownEkHash: EK }, 'proven'],
  ['another TPM', { knownEkHash: 'cd'.repeat(32) }, 'KND_PROOF_SECOND_TPM'],
  ['the TPM of another node', { otherNode: 'till-2' }, 'KND_PROOF_SECOND_TPM'],
  ['listed only', { trust: 'listed' }, 'KND_PROOF_UNTRUSTED'],
  ['a maker’s certificate', { trust: 'vendor-ca', state: proven('CN=Maker') }, 'proven'],
  ['no certificate', { trust: 'vendor-ca' }, 'KND_PROOF_UNTRUSTED'],
  ['a person approves', { trust: 'approval' }, 'approval'],
  ['no TPM: a person approves the key of its boot', { ...APPROVAL, state: UNABLE }, 'approval'],
  ['no TPM: the key was approved', { ...APPROVAL, state: UNABLE, approvedKey: 'k1' }, 'unproven'],
  ['no TPM: another boot', { ...APPROVAL, state: UNABLE, approvedKey: 'k0' }, 'approval'],
  ['no TPM and no key', { ...APPROVAL, state: { kind: 'unable', reason: '' } }, 'wait'],
  ['an old client shows no code', { ...APPROVAL, state: SILENT }, 'wait'],
  [
    'approval does not help where a TPM is required',
    { trust: 'approval', state: UNABLE, approvedKey: 'k1' },
    'KND_PROOF_NO_TPM',
  ],
] as const satisfies readonly [string, Partial<ProofQuestion>, string][])('%s', (_, question, expected) => {
  expect(decided(question)).toBe(expected);
});
