import { decodeJwt } from 'jose';
import { fetchText, type HttpRequest } from '../../net/http.ts';
import { KindlingError } from '../../protocol/error.ts';
import { type Endpoint, parseEndpoint, urlOf } from '../connection/endpoint.ts';
import { explainCallError, httpStatusError } from '../connection/explain.ts';
import type { Network } from '../connection/network.ts';

type Answer = Awaited<ReturnType<typeof fetchText>>;

const TOKEN_PATH = '/realms/master/protocol/openid-connect/token';
const FALLBACK_LIFETIME_MS = 5 * 60_000;

export interface AccessToken {
  accessToken: string;
  /** Of the password grant: lets the token be renewed without asking the person again. */
  refreshToken?: string;
  lifetimeMs: number;
  /** When the server made it, by the server's clock. */
  issuedAt?: number;
}

export type Grant =
  | { kind: 'client'; clientId: string; clientSecret: string }
  | { kind: 'password'; username: string; password: string }
  | { kind: 'refresh'; refreshToken: string };

/** Asks Keycloak (or whatever answers at its address) for an access token. */
export async function requestAccessToken(
  network: Network,
  keycloak: Endpoint,
  grant: Grant,
  signal?: AbortSignal,
): Promise<AccessToken> {
  const body = new URLSearchParams(formOf(grant)).toString();
  const response = await send(network, keycloak, TOKEN_PATH, 'asking for an access token', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
    signal,
  });
  if (response.status === 400 || response.status === 401) throw refusedGrant(grant, response);
  if (response.status !== 200) throw httpStatusError(keycloak, 'asking for an access token', response.status);
  return readAccessToken(response.body);
}

/** The release token: one raw string, "anonymous" where the release service asks for nothing. */
export async function requestReleaseToken(
  network: Network,
  keycloakName: string,
  tls: Endpoint['tls'],
  accessToken: string,
  signal?: AbortSignal,
): Promise<string> {
  const endpoint = parseEndpoint(keycloakName.replace('keycloak', 'release'), tls);
  const what = 'asking for the release token';
  const response = await send(network, endpoint, '/token', what, {
    headers: { authorization: `Bearer ${accessToken}` },
    signal,
  });
  if (response.status !== 200) throw httpStatusError(endpoint, what, response.status);
  const token = response.body.trim();
  if (token === '' || token === 'null') {
    throw new KindlingError('KND_SERVER_PROTOCOL', `${what}: ${endpoint.host} answered with an empty token`);
  }
  return token;
}

function formOf(grant: Grant): Record<string, string> {
  switch (grant.kind) {
    case 'client':
      return {
        grant_type: 'client_credentials',
        client_id: grant.clientId,
        client_secret: grant.clientSecret,
      };
    case 'password':
      return {
        username: grant.username,
        password: grant.password,
        grant_type: 'password',
        client_id: 'system-client',
        scope: 'openid',
      };
    case 'refresh':
      return {
        grant_type: 'refresh_token',
        refresh_token: grant.refreshToken,
        client_id: 'system-client',
      };
  }
}

function refusedGrant(grant: Grant, { status, body }: Answer): KindlingError {
  const reason = /"error_description"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? `HTTP ${status}`;
  if (grant.kind === 'password') {
    return new KindlingError('KND_SIGN_IN_REFUSED', `the user name or password is wrong (${reason})`);
  }
  const who = grant.kind === 'client' ? `client ${grant.clientId}` : 'the signed-in user';
  return new KindlingError('KND_CREDENTIALS_REFUSED', `the token server refuses ${who}: ${reason}`);
}

function readAccessToken(body: string): AccessToken {
  const fields = parseObject(body);
  const accessToken = fields['access_token'];
  if (typeof accessToken !== 'string' || accessToken === '') {
    throw new KindlingError('KND_SERVER_PROTOCOL', 'the token server’s answer holds no access_token');
  }
  const claims = readClaims(accessToken);
  const refreshToken = fields['refresh_token'];
  return {
    accessToken,
    ...(typeof refreshToken === 'string' && refreshToken !== '' ? { refreshToken } : {}),
    lifetimeMs: lifetimeOf(fields['expires_in'], claims),
    ...(claims.iat === undefined ? {} : { issuedAt: claims.iat * 1000 }),
  };
}

/** From the token itself, relative to its own iat: right even where the node's clock is wrong. */
function lifetimeOf(expiresIn: unknown, { exp, iat }: { exp?: number; iat?: number }): number {
  if (exp !== undefined && iat !== undefined && exp > iat) return (exp - iat) * 1000;
  return typeof expiresIn === 'number' && expiresIn > 0 ? expiresIn * 1000 : FALLBACK_LIFETIME_MS;
}

function readClaims(token: string): { exp?: number; iat?: number } {
  try {
    const { exp, iat } = decodeJwt(token);
    return { ...(exp === undefined ? {} : { exp }), ...(iat === undefined ? {} : { iat }) };
  } catch {
    return {}; // an opaque token is allowed
  }
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // said below
  }
  throw new KindlingError('KND_SERVER_PROTOCOL', 'the token server’s answer is not JSON');
}

async function send(
  network: Network,
  endpoint: Endpoint,
  path: string,
  what: string,
  request: HttpRequest,
): Promise<Answer> {
  try {
    return await fetchText(network, urlOf(endpoint, path), request);
  } catch (error) {
    request.signal?.throwIfAborted();
    throw await explainCallError(network, endpoint, what, error);
  }
}
