import type { JWTPayload } from 'jose';
import { rolesOf } from './access.ts';
import { type Credentials, isSameSecret } from './credentials.ts';
import type { SignIn, SignIns } from './sign-ins.ts';
import type { TokenSigner } from './token-signer.ts';

export interface GrantParts {
  signer: TokenSigner;
  credentials: Credentials;
  signIns: SignIns;
  projectId: string;
  issuer: string;
  /** Address of the caller, which tries are counted by. */
  client: string;
  /** EMF's realm gives 3600 s. */
  lifetimeSeconds: number;
}

/** Keycloak's answer to a token request: its JSON and status. */
export interface GrantAnswer {
  status: number;
  body: Record<string, unknown>;
}

const PERSON_CLIENT = 'system-client';
const REFRESH_LIFETIME_SECONDS = 12 * 3600;

/** The three grants that agents use, with Keycloak's wording for refusals. */
export async function answerGrant(form: URLSearchParams, parts: GrantParts): Promise<GrantAnswer> {
  switch (form.get('grant_type')) {
    case 'client_credentials':
      return grantClient(form, parts);
    case 'password':
      return grantPassword(form, parts);
    case 'refresh_token':
      return grantRefresh(form, parts);
    case null:
      return refuse(400, 'invalid_request', 'Missing form parameter: grant_type');
    default:
      return refuse(400, 'unsupported_grant_type', 'Unsupported grant_type');
  }
}

async function grantClient(form: URLSearchParams, parts: GrantParts): Promise<GrantAnswer> {
  const clientId = form.get('client_id') ?? '';
  const client = await parts.credentials.client(clientId);
  if (!client || !isSameSecret(form.get('client_secret') ?? '', client.secret)) {
    return refuse(401, 'unauthorized_client', 'Invalid client or Invalid client credentials');
  }
  const { projectId } = parts;
  const access = await accessToken(parts, {
    sub: `service-account-${clientId}`,
    azp: clientId,
    client_id: clientId,
    preferred_username: `service-account-${clientId}`,
    realm_access: {
      roles: [
        'rs-access-r',
        'rs-proxy-r',
        `${projectId}_cat-r`,
        `${projectId}_reg-r`,
        `${projectId}_en-agent-rw`,
      ],
    },
  });
  return { status: 200, body: { ...access, refresh_expires_in: 0, scope: 'profile email' } };
}

async function grantPassword(form: URLSearchParams, parts: GrantParts): Promise<GrantAnswer> {
  if (form.get('client_id') !== PERSON_CLIENT) {
    return refuse(401, 'invalid_client', 'Invalid client or Invalid client credentials');
  }
  const name = form.get('username') ?? '';
  const password = form.get('password') ?? '';
  const projectId = await parts.credentials.checkPassword(name, password, parts.client);
  if (!projectId) return refuse(401, 'invalid_grant', 'Invalid user credentials');
  const signIn = await parts.signIns.start(name, parts.client);
  return personTokens(parts, signIn, [`${projectId}_en-ob`, 'rs-access-r']);
}

async function grantRefresh(form: URLSearchParams, parts: GrantParts): Promise<GrantAnswer> {
  const invalid = () => refuse(400, 'invalid_grant', 'Invalid refresh token');
  let claims: JWTPayload;
  try {
    claims = await parts.signer.verify(form.get('refresh_token') ?? '');
  } catch {
    return invalid();
  }
  if (claims['typ'] !== 'Refresh') return invalid();
  const signIn = await parts.signIns.renew(String(claims['sid'] ?? ''), String(claims['refresh_id'] ?? ''));
  if (!signIn || signIn.user !== claims['preferred_username']) return invalid();
  return personTokens(parts, signIn, rolesOf(claims));
}

async function personTokens(parts: GrantParts, signIn: SignIn, roles: string[]): Promise<GrantAnswer> {
  const claims = {
    sub: signIn.user,
    azp: PERSON_CLIENT,
    preferred_username: signIn.user,
    sid: signIn.id,
    realm_access: { roles },
  };
  const refresh = await parts.signer.sign(
    { ...claims, refresh_id: signIn.refreshId, iss: parts.issuer, typ: 'Refresh' },
    REFRESH_LIFETIME_SECONDS,
  );
  return {
    status: 200,
    body: {
      ...(await accessToken(parts, claims)),
      refresh_expires_in: REFRESH_LIFETIME_SECONDS,
      refresh_token: refresh,
      scope: 'openid profile email',
    },
  };
}

async function accessToken(parts: GrantParts, claims: JWTPayload): Promise<Record<string, unknown>> {
  const token = await parts.signer.sign(
    { ...claims, iss: parts.issuer, typ: 'Bearer' },
    parts.lifetimeSeconds,
  );
  return {
    access_token: token,
    expires_in: parts.lifetimeSeconds,
    token_type: 'Bearer',
    'not-before-policy': 0,
  };
}

function refuse(status: number, error: string, description: string): GrantAnswer {
  return { status, body: { error, error_description: description } };
}
