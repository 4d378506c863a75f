import { plainAddress } from '../../net/address-group.ts';
import { sendJson } from '../../net/server/http-server.ts';
import type { ApiRoute, RawRoute } from '../../net/server/route.ts';
import { CERTIFICATE_REFUSED_PATH, shownReason } from '../../protocol/certificate-refusal.ts';
import type { StateHealth } from '../store/state-health.ts';
import { openApiDocument } from './openapi.ts';

/** Small things around the API: whether we can work, who signs our certificates, what the API is. */
export function plainRoutes(
  api: readonly ApiRoute[],
  ca: () => string,
  version: string,
  state: StateHealth,
  onRefusal: (address: string, reason: string) => void,
): RawRoute[] {
  const document = openApiDocument(api, version);
  return [
    {
      method: 'GET',
      path: '/healthz',
      access: 'anyone',
      answer: async ({ response }) => {
        const failure = await state.check();
        if (failure) throw failure;
        sendJson(response, 200, { status: 'ok', version });
      },
    },
    {
      method: 'GET',
      path: CERTIFICATE_REFUSED_PATH,
      access: 'anyone',
      answer: ({ request, response, query }) => {
        onRefusal(plainAddress(request.socket.remoteAddress), shownReason(query.get('reason')));
        sendJson(response, 204, undefined);
      },
    },
    {
      method: 'GET',
      path: '/site-ca.crt',
      access: 'anyone',
      answer: ({ response }) => {
        response.writeHead(200, { 'content-type': 'application/x-pem-file' }).end(ca());
      },
    },
    {
      method: 'GET',
      path: '/api/v1/openapi.json',
      access: 'anyone',
      answer: ({ response }) => sendJson(response, 200, document),
    },
  ];
}
