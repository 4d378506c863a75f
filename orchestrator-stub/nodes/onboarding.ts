import { normalizeMac } from '../../formats/mac-address.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import { nodeKeyCode, sealSecret } from '../../protocol/sealed-secret.ts';
import type { Credentials, NodeClient } from '../credentials/credentials.ts';
import type { SignIns } from '../credentials/sign-ins.ts';
import type { ProofExchange } from '../proof/proof-exchange.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import { resourceId } from '../store/identifiers.ts';
import { isStateFailure } from '../store/state-failure.ts';
import type { Store } from '../store/store.ts';
import { type Host, normalizeUuid, status, swapUuidFields } from './host.ts';
import type { HostTable } from './host-table.ts';
import { isInUse } from './instance.ts';
import { judgeNodeKey } from './node-key.ts';
import type { Nodes } from './nodes.ts';
import {
  type Candidates,
  decideOnboarding,
  type OnboardingDecision,
  RPC_CODE,
} from './onboarding-decision.ts';
import { findFault, type Knock } from './onboarding-request.ts';
import type { ProofGate, ProofStep } from './proof-gate.ts';
import { newHost } from './registration.ts';
import { isSerial, NO_SERIAL } from './serial.ts';
import { makeRoomForUnknown } from './unknown-machines.ts';

export interface OnboardingOptions {
  store: Store;
  hosts: HostTable;
  nodes: Nodes;
  credentials: Credentials;
  signIns: SignIns;
  gate: ProofGate;
  /** What follows for a host that was let in, in the background as in EMF. */
  advance: (hostId: HostId) => void;
  settings: () => SiteSettings;
  projectId: string;
  isStrict: boolean;
  now: () => Date;
  onFailure: (thrown: unknown) => void;
  /** Somebody may be pretending to be a node: for the log that people read. */
  onAlarm: (alarm: KindlingError) => void;
}

export interface KnockAnswer extends OnboardingDecision {
  client?: NodeClient;
  /** The client's secret, for a node that showed a key; it then gets it in no other form. */
  sealedSecret?: Buffer;
  /** What the machine is asked for next, with REGISTERED. */
  proof?: ProofStep | undefined;
  /** The client's secret, for a machine that proved itself; it then gets it in no other form. */
  provenSecret?: Buffer;
}

/** Whose token asks for a node to be created; neither where the operator does, or nobody is asked for a token. */
export interface NodeCreator {
  hostId?: HostId | undefined;
  signIn?: string | undefined;
}

/** A node whose token was used within this time is there. A reboot takes longer, so it is not taken for a second machine. */
const SILENCE_MS = 30_000;

/** Lets nodes in: the non-interactive stream and the interactive call. */
export class Onboarding {
  readonly #options: OnboardingOptions;

  constructor(options: OnboardingOptions) {
    this.#options = options;
  }

  /**
   * One request of the non-interactive stream. `origin` is how the node reached us: it is told to the installed system. `exchange` is the
   * proof of this stream; with --strict there is none.
   */
  async knock(
    knock: Knock,
    origin: string,
    address: string,
    exchange: ProofExchange | undefined,
  ): Promise<KnockAnswer> {
    const { store, hosts, nodes, credentials, now, settings, gate } = this.#options;
    const { uuid, serial, key = new Uint8Array(), proof: step } = knock;
    const state = await exchange?.hear({ uuid, serial, key, step });
    return store.transaction(async () => {
      if (settings().acceptUnregistered) await this.#admitStranger(knock);
      const asked = await this.#decide(knock);
      const gated = state ? await gate.examine(asked, state, address) : { decision: asked };
      if (gated.step?.kind === 'want') exchange?.wasSent();
      const decision = gated.proven
        ? withKey(gated.decision, knock)
        : await this.#checkKey(gated.decision, knock, address);
      if (decision.save) {
        await hosts.save(decision.save);
        if (decision.code === RPC_CODE.OK) await hosts.saveOrigin(decision.save.id, origin);
        if (decision.state === 'ONBOARDED') await hosts.acceptClaim(decision.save.id, address);
        await nodes.tell(decision.save, decision.state === 'ONBOARDED' ? 'onboarded' : 'changed');
      }
      if (decision.state !== 'ONBOARDED' || !decision.host) return { ...decision, proof: gated.step };
      const client = await credentials.issue(decision.host, now());
      if (gated.proven) return { ...decision, client, provenSecret: gated.proven.seal(client.secret) };
      const sealedSecret = !this.#options.isStrict && knock.key && sealSecret(client.secret, knock.key);
      return { ...decision, client, ...(sealedSecret ? { sealedSecret } : {}) };
    });
  }

  /** A node is let in with the first key it shows; another one is another machine, unless that one is silent. */
  async #checkKey(decision: OnboardingDecision, knock: Knock, address: string): Promise<OnboardingDecision> {
    const { hosts, credentials, now, settings, isStrict } = this.#options;
    const { host } = decision;
    if (isStrict || decision.state !== 'ONBOARDED' || !host) return decision;
    const shown = knock.key && knock.key.length > 0 ? nodeKeyCode(knock.key) : undefined;
    const isHeard = credentials.wasUsedSince(host.id, new Date(now().getTime() - SILENCE_MS));
    const { oneKeyPerNode: isOneKeyOnly } = settings();
    const verdict = judgeNodeKey({ pinned: host.nodeKey, shown, isHeard, isOneKeyOnly });
    const known = (await hosts.byId(host.id)) ?? host;
    if (verdict === 'refused') {
      const text = `A second machine asks for the credentials of this node (${address}, key ${shown ?? 'none'})`;
      this.#alarm(known, text);
      const message = 'another machine was let in as this node';
      return {
        ...{ code: RPC_CODE.FAILED_PRECONDITION, message, state: 'UNSPECIFIED', isStreamKept: false },
        save: { ...known, onboardingStatus: status(text, 'ERROR', now()) },
      };
    }
    const saved = { ...host, ...(shown ? { nodeKey: shown } : {}) };
    if (verdict !== 'changed') return { ...decision, save: saved, host: saved };
    const text = `Onboarded again with another key (${address}, key ${shown}): it was rebooted, or another machine took its place`;
    this.#alarm(known, text);
    const again = { ...saved, onboardingStatus: status(text, 'IDLE', now()) };
    return { ...decision, save: again, host: again };
  }

  /** Once for the same words: a stranger who asks again and again fills no log. */
  #alarm(host: Host, text: string): void {
    if (host.onboardingStatus.text === text) return;
    this.#options.onAlarm(new KindlingError('KND_NODE_SECOND_MACHINE', `${host.name}: ${text}`));
  }

  /** For the stream: once its ONBOARDED answer is on its way. */
  afterOnboarded(host: Host): void {
    this.#options.advance(host.id);
  }

  /** Whether a person let this host in with this sign-in, or with an earlier one that it continues. */
  async isLetInBy(hostId: HostId, signIn: string): Promise<boolean> {
    const earlier = (await this.#options.hosts.byId(hostId))?.signIn;
    return earlier !== undefined && this.#options.signIns.continues(signIn, earlier);
  }

  /**
   * The interactive call (docs/background/emf.md#interactive-onboarding). Returns the host, and whether it was
   * unknown before.
   */
  async createNode(knock: Knock, origin: string, by: NodeCreator): Promise<{ host: Host; isNew: boolean }> {
    const { store, hosts, nodes, now, projectId, settings } = this.#options;
    const serial = this.#serialOf(knock);
    const { signIn } = by;
    const result = await store.transaction(async () => {
      const existing = await hosts.byUuid(normalizeUuid(knock.uuid));
      // A node's token speaks for that node. EMF lets it create any; there is no use for that, and one stolen token would do for all.
      if (by.hostId !== undefined && by.hostId !== existing?.id) {
        throw new KindlingError('KND_API_FORBIDDEN', 'a node’s token is for that node only');
      }
      // What an operator took away nobody else gives back.
      if (existing?.desiredState === 'UNTRUSTED' || existing?.desiredState === 'DELETED') {
        throw new KindlingError('KND_API_FORBIDDEN', `${existing.name} is no longer trusted`);
      }
      // The token of a node was given to a machine that has proven itself where it had to.
      if (by.hostId === undefined) await this.#options.gate.requireUnproven(existing);
      const isNew = !existing?.isRegistered;
      if (signIn) await this.#requireFreeSignIn(signIn, existing);
      const isSame = existing && !isNew && existing.serial === serial && existing.reportedMac === knock.mac;
      if (isSame && (!signIn || existing.signIn === signIn)) return { host: existing, isNew };
      const holders = await hosts.withMac(normalizeMac(knock.mac));
      if (holders.some(({ id, isMacRegistered }) => isMacRegistered && id !== existing?.id)) {
        throw new KindlingError('KND_API_FORBIDDEN', `${knock.mac} is the MAC of another node`);
      }
      if (!existing) await makeRoomForUnknown(hosts, settings().maxUnknownMachines, now());
      const host: Host = {
        ...(existing ?? newHost(resourceId('host'), projectId, now())),
        isRegistered: true,
        isUninvited: isNew || (existing.isUninvited ?? false),
        ...(signIn ? { signIn } : {}),
        uuid: normalizeUuid(knock.uuid),
        serial,
        mac: normalizeMac(knock.mac),
        reportedMac: knock.mac,
        reportedIp: knock.ip,
        desiredState: 'ONBOARDED',
        currentState: 'ONBOARDED',
        registrationStatus: status('Unknown', 'UNSPECIFIED', now()),
        onboardingStatus: status('Onboarded', 'IDLE', now()),
        lastSeenAt: now().toISOString(),
      };
      await hosts.save(host);
      await hosts.saveOrigin(host.id, origin);
      await nodes.tell(host, 'onboarded');
      return { host, isNew };
    });
    this.#options.advance(result.host.id);
    return result;
  }

  #serialOf(knock: Knock): string {
    return isSerial(knock.serial, this.#options.isStrict) ? knock.serial : NO_SERIAL;
  }

  /** One sign-in lets in the machine it was made at, and no system that is in use is handed to who stands at a console. */
  async #requireFreeSignIn(signIn: string, existing: Host | undefined): Promise<void> {
    const { hosts } = this.#options;
    const other = await hosts.bySignIn(signIn);
    if (other && other.id !== existing?.id) {
      throw new KindlingError('KND_API_FORBIDDEN', `this sign-in has let in ${other.name} already`);
    }
    if (existing?.isRegistered && existing.signIn !== signIn && isInUse(await hosts.instance(existing.id))) {
      throw new KindlingError('KND_API_FORBIDDEN', `${existing.name} is in use`);
    }
  }

  async #decide(knock: Knock): Promise<OnboardingDecision> {
    const { isStrict, now, onFailure } = this.#options;
    try {
      const { candidates, inUse, macHolders } = await this.#factsOf(knock);
      return decideOnboarding(
        knock,
        candidates,
        {
          isStrict,
          isProvisioned: ({ id }) => inUse.has(id),
          isMacOfAnother: ({ id }) => macHolders.some((other) => other.id !== id && other.isMacRegistered),
        },
        now(),
      );
    } catch (thrown) {
      // The agent is told to wait, as with every other call (grpc/refusal.ts).
      if (isStateFailure(thrown) && !isStrict) throw thrown;
      // EMF says so inside the stream when its inventory cannot be read; a failure to write ends the RPC.
      onFailure(thrown);
      return {
        code: RPC_CODE.INTERNAL,
        message: 'Internal server error',
        state: 'UNSPECIFIED',
        isStreamKept: false,
      };
    }
  }

  /** What the decision needs to know; nothing is looked up for a knock that is refused whatever is known. */
  async #factsOf(knock: Knock): Promise<{ candidates: Candidates; inUse: Set<HostId>; macHolders: Host[] }> {
    const { hosts } = this.#options;
    const inUse = new Set<HostId>();
    const fault = findFault(knock, 'OnboardNodeStreamRequest');
    if (fault && fault.field !== 'Serialnum') {
      return {
        candidates: { byUuid: undefined, bySerial: undefined, byMac: undefined },
        inUse,
        macHolders: [],
      };
    }
    const candidates = await this.#candidates(knock, this.#serialOf(knock));
    const macHolders = await hosts.withMac(normalizeMac(knock.mac));
    for (const id of new Set(Object.values(candidates).map((host: Host | undefined) => host?.id))) {
      if (id !== undefined && isInUse(await hosts.instance(id))) inUse.add(id);
    }
    return { candidates, inUse, macHolders };
  }

  /** Registered hosts only: a machine that merely showed itself is "not found", so that a person may log it in. */
  async #candidates(knock: Knock, serial: string): Promise<Candidates> {
    const { hosts } = this.#options;
    const registered = (host: Host | undefined) => (host?.isRegistered ? host : undefined);
    const uuid = normalizeUuid(knock.uuid);
    return {
      byUuid: registered(await hosts.byUuid(uuid)) ?? registered(await hosts.byUuid(swapUuidFields(uuid))),
      bySerial: serial === NO_SERIAL ? undefined : registered(await hosts.bySerial(serial)),
      byMac: registered(await hosts.byMac(normalizeMac(knock.mac))),
    };
  }

  /** A site may let in every machine that boots on its network, with the default profile. */
  async #admitStranger(knock: Knock): Promise<void> {
    const { nodes, hosts, settings } = this.#options;
    const fault = findFault(knock, 'OnboardNodeStreamRequest');
    if (fault && fault.field !== 'Serialnum') return;
    const serial = this.#serialOf(knock);
    const { byUuid, bySerial, byMac } = await this.#candidates(knock, serial);
    if (byUuid || bySerial || byMac) return;
    const profile = settings().defaultProfile;
    const known = await hosts.byUuid(normalizeUuid(knock.uuid));
    try {
      await nodes.register({
        name: known?.name,
        uuid: knock.uuid,
        ...(serial === NO_SERIAL ? {} : { serial }),
        autoOnboard: true,
        isUninvited: true,
        ...(profile ? { profile } : {}),
      });
    } catch (thrown) {
      // The site is full: the node is not found, as it would be at a site that lets in nobody.
      if (!(thrown instanceof KindlingError) || thrown.code !== 'KND_NODE_LIMIT') throw thrown;
      this.#options.onFailure(thrown);
    }
  }
}

/** The key of this boot, for a later boot in which the TPM is not asked. */
function withKey(decision: OnboardingDecision, { key }: Knock): OnboardingDecision {
  if (!decision.host || !key || key.length === 0) return decision;
  const host = { ...decision.host, nodeKey: nodeKeyCode(key) };
  return { ...decision, save: host, host };
}
