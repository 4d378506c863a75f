import { KindlingError } from '../../protocol/error.ts';
import { ERROR_CODES } from '../../protocol/error-codes.ts';
import { Approvals } from '../proof/approvals.ts';
import { decideProof, type ProofRequirement } from '../proof/decide-proof.ts';
import type { Credential } from '../proof/make-credential.ts';
import { ProofExchange, type ProofState, type Proven } from '../proof/proof-exchange.ts';
import type { VendorCertificates } from '../proof/vendor-certificates.ts';
import type { Want } from '../proof/verify-evidence.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import type { DocumentTable } from '../store/document-table.ts';
import type { Messenger } from '../store/messages.ts';
import { type Host, status } from './host.ts';
import type { HostTable } from './host-table.ts';
import { type OnboardingDecision, RPC_CODE } from './onboarding-decision.ts';
import type { Profile } from './profile.ts';

export interface ProofGateOptions {
  messenger: Messenger;
  hosts: HostTable;
  profiles: DocumentTable<Profile>;
  settings: () => SiteSettings;
  vendors: VendorCertificates;
  now: () => Date;
  onAlarm: (alarm: KindlingError) => void;
}

/** What a machine is asked for next. */
export type ProofStep =
  | { kind: 'want'; want: Want }
  | { kind: 'challenge'; credential: Credential }
  | { kind: 'approval'; code: string };

export interface Gated {
  decision: OnboardingDecision;
  step?: ProofStep | undefined;
  /** The machine is the node, and no key of a boot needs to say so. */
  proven?: Proven;
}

/** Stands before the credentials: a machine that would be let in by what it says has to prove it where the site wants that. */
export class ProofGate {
  readonly #options: ProofGateOptions;
  readonly #approvals: Approvals;

  constructor(options: ProofGateOptions) {
    this.#options = options;
    this.#approvals = new Approvals(options.messenger, options.now);
  }

  /** One for each stream. */
  openExchange(): ProofExchange {
    return new ProofExchange(this.#options.vendors);
  }

  /** Changes a decision to let a machine in, if it has not proven to be the node. */
  async examine(decision: OnboardingDecision, state: ProofState, address: string): Promise<Gated> {
    const { hosts, settings } = this.#options;
    const { host } = decision;
    if (decision.state !== 'ONBOARDED' || !host) return { decision };
    const known = (await hosts.byId(host.id)) ?? host;
    const shown = state.kind === 'proven' ? await hosts.byEkHash(state.proven.ekHash) : undefined;
    const verdict = decideProof({
      requirement: await this.requirementOf(known),
      trust: settings().proofTrust,
      knownEkHash: known.ekHash,
      approvedKey: known.approvedKey,
      otherNode: shown && shown.id !== known.id ? shown.name : undefined,
      state,
    });
    switch (verdict.kind) {
      case 'unproven': {
        const { proven: _, ...unproven } = host;
        return { decision: { ...decision, save: unproven, host: unproven } };
      }
      case 'proven':
        return { decision: this.#admit(decision, host, verdict.proven), proven: verdict.proven };
      case 'approval': {
        const code = this.#approvals.codeFor(known.id, verdict.machine);
        const waits = this.#wait(known, 'Waiting for a person to type the code on the console of the node');
        return { decision: waits, step: { kind: 'approval', code } };
      }
      case 'wait':
        return { decision: this.#wait(known, verdict.text), step: stepOf(state) };
      case 'refuse':
        return { decision: this.#refuse(known, verdict.error, verdict.isAlarm, address) };
    }
  }

  /** The machine that shows this code is the node: its TPM from now on, or the key of its boot while it has no TPM. */
  approve(host: Host, code: string): Host {
    const machine = this.#approvals.take(host.id, code);
    if (machine === undefined)
      throw new KindlingError(
        'KND_PROOF_CODE',
        `no machine that says it is ${host.name} waits with this code`,
      );
    const known = machine.by === 'tpm' ? { ekHash: machine.id } : { approvedKey: machine.id };
    return { ...host, ...known, onboardingStatus: status('Approved', 'IN_PROGRESS', this.#options.now()) };
  }

  /** For the ways in that know no proof: throws KND_PROOF_REQUIRED. */
  async requireUnproven(host: Host | undefined): Promise<void> {
    const requirement = await this.requirementOf(host);
    if (requirement === 'required' || (requirement === 'when-possible' && host?.ekHash !== undefined))
      throw new KindlingError('KND_PROOF_REQUIRED', 'this machine has to prove itself by its TPM');
  }

  /** The node's own word, else its profile's, else the site's. */
  async requirementOf(host: Host | undefined): Promise<ProofRequirement> {
    const { profiles, settings } = this.#options;
    const site = settings();
    const profile = host?.profile ?? site.defaultProfile;
    const ofProfile = profile ? (await profiles.get(profile))?.proof : undefined;
    return host?.proof ?? ofProfile ?? site.proof;
  }

  #admit(decision: OnboardingDecision, host: Host, { ekHash, certifiedBy }: Proven): OnboardingDecision {
    const at = this.#options.now().toISOString();
    const proven: Host = { ...host, ekHash, proven: { at, certifiedBy: certifiedBy ?? null } };
    return { ...decision, save: proven, host: proven };
  }

  /** REGISTERED means "ask again" to every client. Only the status of a node that is not in yet changes by it. */
  #wait(known: Host, text: string): OnboardingDecision {
    const answer = {
      code: RPC_CODE.OK,
      message: '',
      state: 'REGISTERED',
      host: known,
      isStreamKept: true,
    } as const;
    if (known.currentState === 'ONBOARDED' || known.onboardingStatus.text === text) return answer;
    const onboardingStatus = status(text, 'IN_PROGRESS', this.#options.now());
    return { ...answer, save: { ...known, currentState: 'REGISTERED', onboardingStatus } };
  }

  #refuse(known: Host, error: KindlingError, isAlarm: boolean, address: string): OnboardingDecision {
    const { code, hint } = error;
    const text = `${code}: ${error.message} (from ${address})`;
    const isNew = known.onboardingStatus.text !== text;
    if (isNew && isAlarm)
      this.#options.onAlarm(
        new KindlingError(code, `${known.name}: ${error.message} (from ${address})`, { hint }),
      );
    // What exactly is wrong is for the operator: the caller may be guessing.
    const answer = {
      code: RPC_CODE.FAILED_PRECONDITION,
      message: `${code}: ${ERROR_CODES[code].meaning}`,
      state: 'UNSPECIFIED',
      isStreamKept: false,
    } as const;
    if (!isNew) return answer;
    return { ...answer, save: { ...known, onboardingStatus: status(text, 'ERROR', this.#options.now()) } };
  }
}

function stepOf(state: ProofState): ProofStep | undefined {
  if (state.kind === 'wanted') return { kind: 'want', want: state.want };
  return state.kind === 'challenged' ? { kind: 'challenge', credential: state.credential } : undefined;
}
