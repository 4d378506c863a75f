import { plainAddress } from '../../net/address-group.ts';
import { readBody } from '../../net/server/body.ts';
import { sendJson } from '../../net/server/http-server.ts';
import type { RawRoute } from '../../net/server/route.ts';
import { KindlingError } from '../../protocol/error.ts';
import { rolesOf } from '../credentials/access.ts';
import { withBasicClient } from '../credentials/client-authentication.ts';
import { answerGrant, type GrantParts } from '../credentials/token-grants.ts';
import type { TokenSigner } from '../credentials/token-signer.ts';

const REALM = '/realms/master/protocol/openid-connect';
const FORM_LIMIT_BYTES = 64 * 1024;

export interface KeycloakParts {
  signer: TokenSigner;
  grants: Omit<GrantParts, 'issuer' | 'client'>;
  /** `anonymous`: the release service asks for nothing, which is EMF's default; `signed`: it hands out tokens of its own. */
  releaseToken: 'anonymous' | 'signed';
}

/** What agents need of Keycloak and of the release service's token endpoint. */
export function keycloakRoutes({ signer, grants, releaseToken }: KeycloakParts): RawRoute[] {
  return [
    {
      method: 'POST',
      path: `${REALM}/token`,
      access: 'anyone',
      answer: async ({ request, response, origin }) => {
        const type = request.headers['content-type'] ?? '';
        if (!type.startsWith('application/x-www-form-urlencoded')) {
          throw new KindlingError('KND_API_INVALID', `a token request is a form, not “${type}”`);
        }
        const form = new URLSearchParams((await readBody(request, FORM_LIMIT_BYTES)).toString('utf8'));
        const answer = await answerGrant(withBasicClient(form, request.headers.authorization), {
          ...grants,
          issuer: `${origin}/realms/master`,
          client: plainAddress(request.socket.remoteAddress),
        });
        sendJson(response, answer.status, answer.body);
      },
    },
    {
      method: 'GET',
      path: `${REALM}/certs`,
      access: 'anyone',
      answer: ({ response }) => sendJson(response, 200, signer.keySet),
    },
    {
      method: 'GET',
      path: '/realms/master/.well-known/openid-configuration',
      access: 'anyone',
      answer: ({ response, origin }) =>
        sendJson(response, 200, {
          issuer: `${origin}/realms/master`,
          token_endpoint: `${origin}${REALM}/token`,
          jwks_uri: `${origin}${REALM}/certs`,
          grant_types_supported: ['client_credentials', 'password', 'refresh_token'],
          id_token_signing_alg_values_supported: ['RS256'],
        }),
    },
    {
      method: 'GET',
      path: '/token',
      access: 'anyone',
      answer: async ({ request, response }) => {
        const text = (status: number, body: string) =>
          response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(body);
        if (releaseToken === 'anonymous') return void text(200, 'anonymous');
        const token = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
        const claims = await signer.verify(token).catch(() => undefined);
        if (claims?.['typ'] !== 'Bearer') return void text(401, 'Invalid token');
        if (!rolesOf(claims).includes('rs-access-r')) return void text(403, 'Invalid claims');
        text(200, await signer.sign({ sub: String(claims.sub), typ: 'Release' }, grants.lifetimeSeconds));
      },
    },
  ];
}
