import { delayBefore } from '../../net/retry.ts';
import { KindlingError, toKindlingError } from '../../protocol/error.ts';
import { pause } from '../../system/wait.ts';
import { type Endpoint, parseEndpoint } from '../connection/endpoint.ts';
import type { Network } from '../connection/network.ts';
import type { Log } from '../report/log.ts';
import type { CredentialFiles } from './credential-files.ts';
import { type AccessToken, type Grant, requestAccessToken, requestReleaseToken } from './token-endpoint.ts';

/** Renewed when this part of its life is over: with an hour's token there are 12 minutes left to try again. */
const RENEW_AFTER = 0.8;
const SKEW_MS = 5 * 60_000;
const NO_RELEASE_TOKEN = 'anonymous';

/** The server has revoked what the node was given: only onboarding anew helps. */
export function areCredentialsGone({ code }: KindlingError): boolean {
  return code === 'KND_CREDENTIALS_REFUSED';
}

export interface CredentialsOptions {
  network: Network;
  /** KEYCLOAK_URL as it is written in env_config. */
  keycloak: string;
  tls: Endpoint['tls'];
  files: CredentialFiles;
  log: Log;
  projectId: string;
}

/** The node's tokens: fetched, kept in files for others, and renewed in the background while actions run. */
export class Credentials {
  readonly projectId: string;
  readonly #options: CredentialsOptions;
  readonly #keycloak: Endpoint;
  /** What onboarding gave. */
  readonly #ownGrant: Grant;
  /** What the next token is asked for with: our own grant, or the refresh token that came with the last one. */
  #grant: Grant;
  #token: AccessToken | undefined;
  #expiresAt = 0;
  #releaseToken = NO_RELEASE_TOKEN;
  #renewal: Promise<void> | undefined;

  constructor(options: CredentialsOptions, grant: Grant) {
    this.#options = options;
    this.#keycloak = parseEndpoint(options.keycloak, options.tls);
    this.#ownGrant = grant;
    this.#grant = grant;
    this.projectId = options.projectId;
  }

  /** A grant that was used just now brings its first token along. */
  adopt(token: AccessToken): void {
    this.#accept(token);
  }

  /** The access token, renewed first if it is about to end. */
  async accessToken(): Promise<string> {
    if (!this.#token || performance.now() >= this.#expiresAt) await this.renew();
    if (!this.#token) throw new KindlingError('KND_UNAUTHENTICATED', 'there is no access token');
    return this.#token.accessToken;
  }

  releaseToken(): string {
    return this.#releaseToken;
  }

  /** After a 401: a new token, unless somebody else has already got one since. One request at a time. */
  async renew(rejected?: string): Promise<void> {
    if (rejected !== undefined && this.#token && this.#token.accessToken !== rejected) return;
    this.#renewal ??= this.#fetchTokens().finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  /** Renews before the token ends, for ever; a failure is logged and tried again, and never disturbs anybody. */
  async keepFresh(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        await pause(Math.min(this.#untilRenewalMs(), 2 ** 31 - 1), signal);
        await this.renew();
        failures = 0;
      } catch (thrown) {
        if (signal.aborted) return;
        const error = toKindlingError(thrown);
        this.#options.log.warn(
          { code: error.code, hint: error.hint },
          `token not renewed yet: ${error.message}`,
        );
        await pause(delayBefore(failures, { firstMs: 2000, factor: 2, maxMs: 60_000 }), signal).catch(
          () => {},
        );
        failures += 1;
      }
    }
  }

  #untilRenewalMs(): number {
    if (!this.#token) return 0;
    return Math.max(0, this.#expiresAt - this.#token.lifetimeMs * (1 - RENEW_AFTER) - performance.now());
  }

  async #fetchTokens(): Promise<void> {
    this.#accept(await this.#requestToken());
    await this.#fetchReleaseToken();
  }

  /**
   * A refresh token may end before the access token does (Keycloak: half an hour without use). The person's own grant, which is
   * held in memory only, still works then; the server would not let the node onboard a second time.
   */
  async #requestToken(): Promise<AccessToken> {
    const { network } = this.#options;
    try {
      return await requestAccessToken(network, this.#keycloak, this.#grant);
    } catch (error) {
      const isWorthAnother =
        this.#grant !== this.#ownGrant && error instanceof KindlingError && areCredentialsGone(error);
      if (!isWorthAnother) throw error;
      const token = await requestAccessToken(network, this.#keycloak, this.#ownGrant).catch(() => undefined);
      if (!token) throw error;
      return token;
    }
  }

  // Without it the agent can still onboard, report and write images from public places: not worth stopping for.
  async #fetchReleaseToken(): Promise<void> {
    const { network, keycloak, tls, files, log } = this.#options;
    try {
      this.#releaseToken = await requestReleaseToken(network, keycloak, tls, this.#token?.accessToken ?? '');
    } catch (thrown) {
      const error = toKindlingError(thrown);
      log.warn(
        { code: error.code, hint: error.hint },
        `no release token, going on without: ${error.message}`,
      );
    }
    files.write({ releaseToken: this.#releaseToken });
  }

  #accept(token: AccessToken): void {
    const { files, log } = this.#options;
    this.#token = token;
    this.#expiresAt = performance.now() + token.lifetimeMs;
    if (token.refreshToken !== undefined) this.#grant = { kind: 'refresh', refreshToken: token.refreshToken };
    files.write({ accessToken: token.accessToken });
    if (token.issuedAt !== undefined && Math.abs(token.issuedAt - Date.now()) > SKEW_MS) {
      const said = new Date(token.issuedAt).toISOString();
      log.warn({ code: 'KND_CLOCK_SKEW' }, `the clock of this node is off: the token server says ${said}`);
    }
  }
}
