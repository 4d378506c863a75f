import type { Server } from '@grpc/grpc-js';
import { Agents } from './agents.ts';
import { type GrpcHost, type GrpcHostOptions, startGrpcHost } from './grpc-host.ts';
import { type Keycloak, startKeycloak } from './keycloak.ts';
import { OnboardingManager, rows } from './onboarding-manager.ts';
import { MAC, type TestAgent, type TestAgentOptions } from './test-agent.ts';
import { createTestCa, type TestCa } from './test-ca.ts';
import { TinkCurrentServer } from './tink-current-server.ts';
import { TinkLegacyServer } from './tink-legacy-server.ts';

export interface EmfSiteOptions {
  /** Names in the servers' certificate. */
  names?: string[];
  /** Names of the actions of the one workflow; only "reboot" unless given. */
  actions?: string[];
  host?: GrpcHostOptions;
}

type Tink = TinkLegacyServer | TinkCurrentServer;

/** What an agent finds at a site of EMF: onboarding manager, workflow server and token server, all scripted, under one CA. */
export class EmfSite<T extends Tink = TinkLegacyServer> {
  readonly ca: TestCa;
  readonly keycloak: Keycloak;
  readonly manager = new OnboardingManager(rows.onboarded);
  readonly tink: T;
  host: GrpcHost;
  readonly #agents = new Agents();

  private constructor(ca: TestCa, keycloak: Keycloak, tink: T, host: GrpcHost) {
    this.ca = ca;
    this.keycloak = keycloak;
    this.tink = tink;
    this.host = host;
  }

  static start(options: EmfSiteOptions = {}): Promise<EmfSite> {
    const { actions = ['reboot'] } = options;
    const asked = actions.map((name) => ({ taskName: 'os', name, image: name }));
    return EmfSite.#open(new TinkLegacyServer(MAC, asked), options);
  }

  /** The same with today's Tinkerbell as the workflow server. */
  static startCurrent(options: EmfSiteOptions = {}): Promise<EmfSite<TinkCurrentServer>> {
    const { actions = ['reboot'] } = options;
    return EmfSite.#open(
      new TinkCurrentServer(
        MAC,
        actions.map((name) => ({ name, image: name })),
      ),
      options,
    );
  }

  static async #open<T extends Tink>(tink: T, options: EmfSiteOptions): Promise<EmfSite<T>> {
    const ca = await createTestCa();
    const certificate = await ca.issue(options.names ? { names: options.names } : {});
    const keycloak = await startKeycloak(certificate);
    tink.authorize = (authorization) => keycloak.valid.has(authorization.replace('Bearer ', ''));
    let site: EmfSite<T> | undefined;
    const host = await startGrpcHost((server) => site?.addServices(server), {
      certificate,
      isStarted: false,
      ...options.host,
    });
    site = new EmfSite(ca, keycloak, tink, host);
    await host.start();
    return site;
  }

  addServices = (server: Server): void => {
    this.manager.addTo(server);
    this.tink.addTo(server);
  };

  /** An agent that knows the site as its env_config would tell; `env` adds to that. */
  startAgent({ env, ...setup }: TestAgentOptions = {}): TestAgent {
    return this.#agents.start({
      ca: this.ca.pem,
      env: {
        onboarding_stream_svc: 'localhost',
        onboarding_manager_svc: 'localhost',
        OBM_PORT: String(this.host.port),
        KEYCLOAK_URL: this.keycloak.authority,
        tink_server_svc: this.host.authority,
        ...env,
      },
      // As EMF's boot script has it: the address of a proxy on the node itself, which the agent does without.
      kernel: 'grpc_authority=127.0.0.1:42113 tinkerbell_tls=false',
      ...setup,
    });
  }

  async stop(): Promise<void> {
    await this.#agents.end();
    this.host.kill();
    await this.keycloak.close();
  }
}
