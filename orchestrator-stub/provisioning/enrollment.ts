import { createHash } from 'node:crypto';
import { type JsonValue, toJson } from '@bufbuild/protobuf';
import { normalizeMac } from '../../formats/mac-address.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type AgentAttributes, AgentAttributesSchema } from '../../protocol/generated/tink-current_pb.js';
import type { HostId } from '../../protocol/ids.ts';
import type { Host } from '../nodes/host.ts';
import type { HostTable } from '../nodes/host-table.ts';
import type { Nodes } from '../nodes/nodes.ts';
import { MAC_PATTERN, newHost } from '../nodes/registration.ts';
import { makeRoomForUnknown } from '../nodes/unknown-machines.ts';
import { type EnrollmentRule, matchRule } from '../settings/enrollment-rules.ts';
import type { SiteSettings } from '../settings/site-settings.ts';
import { resourceId } from '../store/identifiers.ts';
import { Channel } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import type { Template } from '../workflow/built-in.ts';
import { defineWorkflow } from '../workflow/definition.ts';
import type { Workflows } from '../workflow/workflows.ts';
import { knownHardware, nodeHardware } from './node-hardware.ts';

export interface EnrollmentOptions {
  store: Store;
  hosts: HostTable;
  nodes: Nodes;
  workflows: Workflows;
  template: (name: string) => Promise<Template>;
  settings: () => SiteSettings;
  projectId: string;
  now: () => Date;
}

/** Who asks for work in the current dialect, and what it says about itself. */
export interface AskingAgent {
  agentId: string;
  /** The host its token belongs to, where tokens are asked for. */
  hostId: HostId | undefined;
  attributes: AgentAttributes | undefined;
}

/** Why an agent is not enrolled. */
export type NotEnrolled = 'off' | 'disabled-for-host' | 'no-rule' | 'has-workflow';

const ID_CHARACTERS = 63;
/** A server with a hundred disks says some 50 kB of itself. */
const MAX_ATTRIBUTES = 256 * 1024;
/** What is kept of a machine that nobody registered. */
const STRANGER_BYTES = 64 * 1024;

/**
 * Today's Tinkerbell: agents tell their attributes with every question, and may get a workflow by rule
 * (docs/background/tinkerbell.md#enrollment).
 */
export class Enrollment {
  readonly #options: EnrollmentOptions;
  /** What each host's agent said last: the same again is not written again. */
  readonly #known = new Map<string, string>();
  readonly #channel: Channel<{ key: string; digest: string }>;

  constructor(options: EnrollmentOptions) {
    this.#options = options;
    this.#channel = new Channel(options.store, 'attributes', ({ key, digest }) =>
      this.#known.set(key, digest),
    );
  }

  /** Keeps what the agent says about its machine, if the machine is known here. */
  async notice({ agentId, hostId, attributes }: AskingAgent): Promise<void> {
    if (!attributes) return;
    const document = toJson(AgentAttributesSchema, attributes);
    const text = JSON.stringify(document);
    if (text.length > MAX_ATTRIBUTES) throw tooLarge(agentId);
    const digest = createHash('sha1').update(text).digest('base64');
    const key = hostId ?? agentId;
    if (this.#known.get(key) === digest) return;
    const { store, hosts, now } = this.#options;
    await store.transaction(async () => {
      const host = await this.#hostOf(agentId, hostId);
      if (!host || (!host.isRegistered && text.length > STRANGER_BYTES)) return;
      await hosts.saveAttributes(host.id, document, now());
      this.#channel.tell({ key, digest });
    });
  }

  /** Gives an agent that has no workflow one by the site's rules. Undefined: it has one now. */
  async enroll(agent: AskingAgent): Promise<NotEnrolled | undefined> {
    const { store, settings } = this.#options;
    const { autoEnrollment, enrollmentRules } = settings();
    if (!autoEnrollment) return 'off';
    const { agentId, hostId, attributes } = agent;
    const document: JsonValue = attributes ? toJson(AgentAttributesSchema, attributes) : {};
    // Agents ask again and again: those that get nothing cost no transaction.
    if ((await this.#hostOf(agentId, hostId))?.mayEnroll === false) return 'disabled-for-host';
    if (JSON.stringify(document).length > MAX_ATTRIBUTES) throw tooLarge(agentId);
    const rule = matchRule(enrollmentRules, document);
    if (!rule) return 'no-rule';
    return store.transaction(() => this.#enroll(agent, document, rule));
  }

  async #enroll(
    { agentId, hostId }: AskingAgent,
    document: JsonValue,
    rule: EnrollmentRule,
  ): Promise<NotEnrolled | undefined> {
    const { nodes, hosts, workflows, settings, now, projectId } = this.#options;
    const known = await this.#hostOf(agentId, hostId);
    if (known?.mayEnroll === false) return 'disabled-for-host';
    const id = `enrollment-${agentId.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`.slice(0, ID_CHARACTERS);
    if (await workflows.find(id)) return 'has-workflow';
    if (!known) await makeRoomForUnknown(hosts, settings().maxUnknownMachines, now());
    const host: Host = known ?? {
      ...newHost(resourceId('host'), projectId, now()),
      name: agentId,
      mac: MAC_PATTERN.test(agentId) ? normalizeMac(agentId) : null,
      reportedMac: agentId,
    };
    await hosts.save(host);
    await hosts.saveAttributes(host.id, document, now());
    if (!known) await nodes.tell(host, 'discovered');
    await workflows.add(
      defineWorkflow({
        id,
        hostId: host.id,
        generation: 0,
        template: await this.#options.template(rule.template),
        data: {
          device_1: agentId,
          DeviceInfoHwMacID: agentId,
          worker_id: agentId,
          [rule.agentValue]: agentId,
          ...nodeHardware(host, await knownHardware(hosts, host)),
          ...rule.values,
        },
        now: now(),
      }),
      rule.isDisabled,
    );
    return undefined;
  }

  async #hostOf(agentId: string, hostId: HostId | undefined): Promise<Host | undefined> {
    const { hosts } = this.#options;
    return hostId === undefined ? hosts.byMac(normalizeMac(agentId)) : hosts.byId(hostId);
  }
}

function tooLarge(agentId: string): KindlingError {
  return new KindlingError(
    'KND_API_TOO_LARGE',
    `the attributes of ${agentId} are not kept: they are too many`,
  );
}
