import type { ECDH } from 'node:crypto';
import { reconnectBackOff, retryUntilItWorks, type Waiting } from '../../net/retry.ts';
import { KindlingError, toKindlingError } from '../../protocol/error.ts';
import type { Config } from '../config/resolve-config.ts';
import { authorityOf, type Endpoint, parseEndpoint } from '../connection/endpoint.ts';
import { explainCallError } from '../connection/explain.ts';
import { type Network, openChannel } from '../connection/network.ts';
import { type AccessToken, type Grant, requestAccessToken } from '../credentials/token-endpoint.ts';
import type { Log } from '../report/log.ts';
import type { Console } from './console.ts';
import { createNode } from './interactive.ts';
import type { NodeFacts } from './node-facts.ts';
import { onboardOverStream } from './non-interactive.ts';
import type { ProvableMachine } from './prove-machine.ts';
import { askToSignIn } from './sign-in.ts';

/** What onboarding gives: who the node is for the token server, and the project it belongs to. */
export interface Onboarded {
  projectId: string;
  grant: Grant;
  /** Interactive onboarding has used the grant already. */
  token?: AccessToken;
}

export interface OnboardOptions {
  config: Config;
  network: Network;
  log: Log;
  /** Asked again before each try: the address may change while the agent waits. */
  facts: () => NodeFacts;
  nodeKey: ECDH;
  /** Asked where the server wants a proof. */
  machine: ProvableMachine;
  openConsoles: () => Console[];
  onWaiting: (waiting: Pick<Waiting, 'name'> & Partial<Waiting>) => void;
  signal?: AbortSignal | undefined;
  pace?: number | undefined;
}

const TRIES_PER_SIGN_IN = 3;

/**
 * Onboards the node, however long it takes: asks the server by itself; where the server does not know the node, a person may sign
 * in at a console — while the agent keeps asking, because another person may register the node on the server instead.
 */
export async function onboard(options: OnboardOptions): Promise<Onboarded> {
  const { config } = options;
  const endpoint = endpointOf(config, config.onboardingStream, 'onboarding_stream_svc');
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, ...(options.signal ? [options.signal] : [])]);
  let person: Promise<Onboarded> | undefined;
  try {
    const { promise: signedIn, resolve, reject } = Promise.withResolvers<Onboarded>();
    const byItself = retryUntilItWorks(
      async () => {
        const outcome = await askTheServer(endpoint, { ...options, signal });
        if (outcome) return outcome;
        if (config.isInteractive && person === undefined) {
          person = onboardWithAPerson({ ...options, signal });
          person.then(resolve, reject);
        }
        throw new KindlingError('KND_ONBOARD_NOT_FOUND', `${endpoint.host} does not know this node`);
      },
      {
        name: `onboarding at ${authorityOf(endpoint)}`,
        signal,
        onFailure: options.onWaiting,
        backOff: reconnectBackOff(options.pace),
        isFinal: ({ code }) => code === 'KND_ONBOARD_ALREADY',
      },
    );
    return await Promise.race([byItself, signedIn]);
  } finally {
    done.abort(new Error('onboarded'));
    await person?.catch(() => {});
  }
}

async function askTheServer(endpoint: Endpoint, options: OnboardOptions): Promise<Onboarded | undefined> {
  const { network, log, signal } = options;
  const client = openChannel(network, endpoint);
  try {
    const outcome = await onboardOverStream(client, options.facts(), {
      signal,
      nodeKey: options.nodeKey,
      machine: options.machine,
      ...(options.pace === undefined ? {} : { pace: options.pace }),
      onRegistered: (projectId, nextAskMs) => {
        log.info(
          { projectId },
          'Edge node registered. Waiting for the edge node to become ready for onboarding...',
        );
        options.onWaiting({ name: 'a person to onboard this node on the server', nextTryMs: nextAskMs });
      },
      onApprovalCode: (code, nextAskMs) => {
        log.info({ code }, 'The server knows the TPM of this machine. Waiting for a person to approve it...');
        options.onWaiting({
          name: `a person to approve this machine: its code is ${code}`,
          nextTryMs: nextAskMs,
        });
      },
    });
    if (outcome.kind === 'not-found') return undefined;
    const { clientId, clientSecret, projectId } = outcome;
    return { projectId, grant: { kind: 'client', clientId, clientSecret } };
  } catch (error) {
    signal?.throwIfAborted();
    throw await explainCallError(network, endpoint, 'onboarding', error);
  } finally {
    client.close();
  }
}

/** Sign-ins until one works. Rejects only when there is no console at all or the signal fires. */
async function onboardWithAPerson(options: OnboardOptions & { signal: AbortSignal }): Promise<Onboarded> {
  const { log, signal } = options;
  const consoles = options.openConsoles();
  try {
    if (consoles.length === 0) return await never(signal);
    for (let attempt = 1; ; attempt += 1) {
      const signIn = await askToSignIn(consoles, signal);
      try {
        return await onboardAs(signIn, options);
      } catch (thrown) {
        signal.throwIfAborted();
        const error = toKindlingError(thrown);
        log.warn({ code: error.code, hint: error.hint }, error.message);
        const message =
          error.code === 'KND_SIGN_IN_REFUSED' && attempt % TRIES_PER_SIGN_IN === 0
            ? 'Incorrect username and password provided.'
            : `${error.message}\n${error.hint}`;
        for (const console of consoles) console.write(`\n${message}\n`);
      }
    }
  } finally {
    for (const console of consoles) console.close();
  }
}

async function onboardAs(
  { username, password }: { username: string; password: string },
  { config, network, facts, signal, pace }: OnboardOptions,
): Promise<Onboarded> {
  const keycloak = endpointOf(config, config.keycloak, 'KEYCLOAK_URL');
  const manager = endpointOf(config, config.onboardingManager, 'onboarding_manager_svc');
  const grant: Grant = { kind: 'password', username, password };
  const token = await requestAccessToken(network, keycloak, grant, signal);
  const projectId = await createNode(network, manager, facts(), token.accessToken, {
    signal,
    ...(pace === undefined ? {} : { pace }),
  });
  return { projectId, grant, token };
}

function endpointOf(config: Config, name: string | undefined, key: string): Endpoint {
  if (name === undefined) {
    throw new KindlingError('KND_CONFIG_MISSING', `env_config has no ${key}, which onboarding needs`);
  }
  const isKeycloak = key === 'KEYCLOAK_URL';
  return parseEndpoint(name, config.tls ? 'verified' : 'off', isKeycloak ? undefined : config.onboardingPort);
}

function never(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}
