import { KindlingError } from '../../protocol/error.ts';
import type { ShownMachine } from './approvals.ts';
import type { ProofState, Proven } from './proof-exchange.ts';

/** Whether a node has to prove itself by its TPM. */
export const PROOF_REQUIREMENTS = ['off', 'when-possible', 'required'] as const;
export type ProofRequirement = (typeof PROOF_REQUIREMENTS)[number];

/** Why a TPM that the node is not known by yet is believed. */
export const PROOF_TRUSTS = ['first-use', 'approval', 'vendor-ca', 'listed'] as const;
export type ProofTrust = (typeof PROOF_TRUSTS)[number];

export interface ProofQuestion {
  requirement: ProofRequirement;
  trust: ProofTrust;
  /** The TPM that the node is known by: registered, or the first it was let in with. */
  knownEkHash: string | undefined;
  /** The key of a boot that a person has approved for a machine without a TPM. */
  approvedKey: string | undefined;
  /** Name of another node that is known by the TPM that was shown. */
  otherNode: string | undefined;
  state: ProofState;
}

export type ProofDecision =
  /** As ever: nothing was asked, or nothing could be proven and need not be. */
  | { kind: 'unproven' }
  | { kind: 'proven'; proven: Proven }
  /** The conversation goes on: the next step is in the state. */
  | { kind: 'wait'; text: string }
  | { kind: 'approval'; machine: ShownMachine }
  /** isAlarm: somebody may be pretending to be the node. */
  | { kind: 'refuse'; error: KindlingError; isAlarm: boolean };

/** Whether a machine that would be let in by its UUID and serial has proven to be the node. */
export function decideProof(question: ProofQuestion): ProofDecision {
  const { requirement, knownEkHash, state } = question;
  if (requirement === 'off') return { kind: 'unproven' };
  switch (state.kind) {
    case 'wanted':
    case 'challenged':
      return { kind: 'wait', text: 'Waiting for a TPM proof' };
    case 'failed':
      return { kind: 'refuse', error: state.error, isAlarm: true };
    case 'proven':
      return decideTrust(question, state.proven);
    case 'silent':
    case 'unable': {
      // A node that has proven itself before is never again let in without: that is how an impostor would come.
      const mustProve = requirement === 'required' || knownEkHash !== undefined;
      if (!mustProve) return decideUnproven(question, state.kind === 'unable' ? state.nodeKey : undefined);
      // EMF's own client asks again by itself, and is let in once somebody changes the policy.
      if (state.kind === 'silent')
        return { kind: 'wait', text: 'Waiting for a TPM proof, which this agent has not offered' };
      const error = new KindlingError('KND_PROOF_NO_TPM', `the machine cannot prove itself: ${state.reason}`);
      return { kind: 'refuse', error, isAlarm: knownEkHash !== undefined };
    }
  }
}

/**
 * A machine that cannot prove itself, where it need not. A site that wants people to approve machines wants it for this one, too: by the
 * key of its boot, so that the secret goes to the machine whose console showed the code.
 */
function decideUnproven({ trust, approvedKey }: ProofQuestion, nodeKey: string | undefined): ProofDecision {
  if (trust !== 'approval' || (nodeKey !== undefined && nodeKey === approvedKey)) return { kind: 'unproven' };
  if (nodeKey !== undefined) return { kind: 'approval', machine: { by: 'boot-key', id: nodeKey } };
  return { kind: 'wait', text: 'Waiting for a person to approve it by a code, which this agent cannot show' };
}

function decideTrust({ trust, knownEkHash, otherNode }: ProofQuestion, proven: Proven): ProofDecision {
  const { ekHash, certifiedBy } = proven;
  if (knownEkHash !== undefined) {
    if (knownEkHash === ekHash) return { kind: 'proven', proven };
    const text = `a machine with another TPM (${ekHash.slice(0, 16)}…) says it is this node`;
    return { kind: 'refuse', error: new KindlingError('KND_PROOF_SECOND_TPM', text), isAlarm: true };
  }
  if (otherNode !== undefined) {
    const text = `the machine that asks has the TPM of ${otherNode}`;
    return { kind: 'refuse', error: new KindlingError('KND_PROOF_SECOND_TPM', text), isAlarm: true };
  }
  if (trust === 'first-use' || (trust === 'vendor-ca' && certifiedBy !== undefined))
    return { kind: 'proven', proven };
  if (trust === 'approval') return { kind: 'approval', machine: { by: 'tpm', id: ekHash } };
  const why = trust === 'listed' ? 'its hash is not registered' : 'no CA of the site certifies it';
  const text = `the TPM of this machine is not trusted, ${why} (${ekHash})`;
  return { kind: 'refuse', error: new KindlingError('KND_PROOF_UNTRUSTED', text), isAlarm: false };
}
