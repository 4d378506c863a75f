import type { JWTPayload } from 'jose';
import { KindlingError } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import type { Person } from '../../protocol/people.ts';
import { OWNER, type People } from '../people/people.ts';
import { type Credentials, isSameSecret } from './credentials.ts';
import type { SignIns } from './sign-ins.ts';
import type { TokenSigner } from './token-signer.ts';

/** Who is calling, as far as the token says. */
export type Caller =
  | { kind: 'person'; person: Person }
  | { kind: 'node'; hostId: HostId; roles: string[] }
  /** Somebody who typed a password at a node's console: opens that machine and nothing else. */
  | { kind: 'user'; name: string; signIn: string; roles: string[] };

export interface AccessOptions {
  signer: TokenSigner;
  credentials: Credentials;
  signIns: SignIns;
  people: People;
  /** The token of the first admin, from the state folder. */
  operatorToken: string;
  now: () => Date;
}

/** Turns a bearer token into a caller: the owner's token, a person's, or a JWT of ours whose owner still exists. */
export class AccessControl {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  async identify(authorization: string | undefined): Promise<Caller> {
    const token = /^Bearer\s+(\S+)$/i.exec(authorization ?? '')?.[1];
    if (!token) throw unauthenticated('the call carries no bearer token');
    if (isSameSecret(token, this.#options.operatorToken)) {
      return { kind: 'person', person: { name: OWNER, role: 'admin', expires: null } };
    }
    const person = await this.#options.people.identify(token);
    if (person) return { kind: 'person', person };
    let claims: JWTPayload;
    try {
      claims = await this.#options.signer.verify(token);
    } catch (cause) {
      throw unauthenticated('the token is not valid', cause);
    }
    if (claims['typ'] !== 'Bearer') throw unauthenticated('this is not an access token');
    const roles = rolesOf(claims);
    const clientId = String(claims['client_id'] ?? claims['azp'] ?? '');
    const hostId = this.#options.credentials.hostOf(clientId);
    if (hostId) {
      this.#options.credentials.noteUse(hostId, this.#options.now());
      return { kind: 'node', hostId, roles };
    }
    const name = String(claims['preferred_username'] ?? '');
    const signIn = String(claims['sid'] ?? '');
    if (clientId === 'system-client' && (await this.#options.signIns.isGood(signIn, name))) {
      return { kind: 'user', name, signIn, roles };
    }
    throw unauthenticated('the token belongs to a client that was revoked');
  }
}

/** Keycloak's place for roles: `realm_access.roles`. */
export function rolesOf(claims: JWTPayload): string[] {
  const access = claims['realm_access'] as { roles?: unknown } | undefined;
  return Array.isArray(access?.roles) ? access.roles.map(String) : [];
}

function unauthenticated(message: string, cause?: unknown): KindlingError {
  return new KindlingError('KND_API_UNAUTHENTICATED', message, cause === undefined ? {} : { cause });
}
