import { z } from 'zod';
import { PROOF_REQUIREMENTS, PROOF_TRUSTS } from '../proof/decide-proof.ts';
import { isOfflineKey } from '../seal/offline-key.ts';
import type { Seal } from '../seal/seal.ts';
import { DocumentTable } from '../store/document-table.ts';
import { Channel } from '../store/messages.ts';
import type { Store } from '../store/store.ts';
import { AgentVariablesSchema } from './agent-variables.ts';
import { EnrollmentRuleSchema, withPatterns } from './enrollment-rules.ts';

/** What holds for the whole site. EMF keeps the first three in its provider config. */
export const SiteSettingsSchema = z
  .strictObject({
    defaultProfile: z.string().max(120).nullable().default(null),
    autoProvision: z
      .boolean()
      .default(true)
      .describe('Zero touch: an onboarded node gets the default profile at once. Off: somebody chooses one'),
    acceptUnregistered: z
      .boolean()
      .default(false)
      .describe('Let in every machine that knocks, with the default profile (closed networks only)'),
    oneKeyPerNode: z
      .boolean()
      .default(false)
      .describe(
        'A node that was let in comes in again only with the key of that boot, until it is re-provisioned. Off: also with another, once the first is silent',
      ),
    proof: z
      .enum(PROOF_REQUIREMENTS)
      .default('off')
      .describe(
        'Whether machines prove themselves by their TPM: off, when-possible (who has none is let in unproven), required. A profile or a node may say otherwise',
      ),
    proofTrust: z
      .enum(PROOF_TRUSTS)
      .default('first-use')
      .describe(
        'Which TPM a node that has no ekHash yet may come with: any (first-use), one whose code somebody types ("kindling node approve"), one with a certificate of a CA in the folder ek-ca (vendor-ca), none (listed)',
      ),
    maxUnknownMachines: z
      .number()
      .int()
      .min(0)
      .max(1_000_000)
      .default(10_000)
      .describe('How many machines that nobody registered are remembered; one more is refused'),
    autoEnrollment: z
      .boolean()
      .default(false)
      .describe('A Tinkerbell agent without a workflow gets one by the enrollment rules'),
    enrollmentRules: z.array(EnrollmentRuleSchema).max(1000).default([]),
    publicUrl: z
      .url()
      .nullable()
      .default(null)
      .describe('How installed systems reach this server; by default as the node did'),
    firstBootMinutes: z
      .number()
      .int()
      .min(2)
      .max(1440)
      .default(30)
      .describe(
        'How long an installed system may take to report its first boot before it restarts into the Micro-OS',
      ),
    neighbours: z
      .boolean()
      .default(false)
      .describe('Nodes that get the same chunked image serve verified chunks to each other'),
    requireConsent: z
      .enum(['never', 'non-empty', 'always'])
      .default('never')
      .describe(
        'Whether somebody must approve the plan before a disk is destroyed: never, where it is not empty, or always (“kindling workflow approve”)',
      ),
    agentVariables: AgentVariablesSchema.default({}).describe(
      'Addresses and switches for the agents of installed systems, where they are not this server’s own',
    ),
    escrowPublicKey: z
      .string()
      .max(4000)
      .refine(isOfflineKey, 'the public half of an RSA key of 2048 bits or more, as PEM')
      .nullable()
      .default(null)
      .describe(
        'Recovery keys are kept for the owner of this RSA key only (PEM): the orchestrator cannot read them then',
      ),
    httpProxy: z.string().max(500).default(''),
    httpsProxy: z.string().max(500).default(''),
    noProxy: z.string().max(2000).default(''),
    ntpServers: z.array(z.string().max(253)).max(16).default([]),
    actionRegistry: z
      .string()
      .max(300)
      .default('localhost:7443/edge-orch/infra/tinker-actions')
      .describe('Where action images come from; our agent only looks at the last part of the name'),
    actionVersion: z.string().max(100).default('1.21.1'),
  })
  .meta({ id: 'SiteSettings' });

export type SiteSettings = z.output<typeof SiteSettingsSchema>;

const NAME = 'site';

/** The site's settings, read once and kept. */
export class Settings {
  readonly #store: Store;
  readonly #table: DocumentTable<SiteSettings>;
  readonly #channel: Channel<{ sealed: string }>;
  #current: SiteSettings;

  private constructor(store: Store, table: DocumentTable<SiteSettings>, current: SiteSettings) {
    this.#store = store;
    this.#table = table;
    this.#current = current;
    this.#channel = new Channel(store, 'settings', ({ sealed }) => {
      this.#current = table.opened(NAME, sealed);
    });
  }

  static async open(store: Store, seal: Seal): Promise<Settings> {
    const table = new DocumentTable<SiteSettings>(store, 'settings', seal);
    const kept: Partial<SiteSettings> = (await table.get(NAME)) ?? {};
    const enrollmentRules = (kept.enrollmentRules ?? []).map(withPatterns);
    return new Settings(store, table, SiteSettingsSchema.parse({ ...kept, enrollmentRules }));
  }

  get(): SiteSettings {
    return this.#current;
  }

  /** As the store has it, in the transaction that changes it too. */
  stored(): Promise<SiteSettings | undefined> {
    return this.#table.get(NAME);
  }

  async change(change: Partial<SiteSettings>): Promise<SiteSettings> {
    return this.#store.transaction(async () => {
      const changed = SiteSettingsSchema.parse({ ...this.#current, ...change });
      await this.#table.save(NAME, changed);
      this.#channel.tell({ sealed: this.#table.sealed(NAME, changed) });
      return changed;
    });
  }
}
