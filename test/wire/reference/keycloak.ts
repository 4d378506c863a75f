import {
  createServer as createPlain,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import type { Certificate } from './test-ca.ts';

/** The token endpoint, the release token and the log collector, scripted. */
export interface Keycloak {
  authority: string;
  /** Every form that was posted. */
  forms: Record<string, string>[];
  /** Access tokens that are good now. */
  valid: Set<string>;
  lifetimeSeconds: number;
  releaseToken: string;
  /** Answers the next token requests with these statuses instead. */
  failures: number[];
  users: Record<string, string>;
  clients: Record<string, string>;
  givesRefreshToken: boolean;
  /** False: refresh tokens have ended. */
  takesRefreshToken: boolean;
  /** Seconds added to iat and exp: a server whose clock is not ours. */
  clockOffsetSeconds: number;
  /** Bodies posted to /v1/logs, with their headers. */
  logs: { headers: IncomingMessage['headers']; body: string }[];
  logFailures: number[];
  /** Files below /tink-stack/ and /files-edge-orch/, and who asked for them with which token. */
  files: Record<string, string>;
  fileRequests: { path: string; authorization: string | undefined }[];
  revokeAll(): void;
  close(): Promise<void>;
}

export async function startKeycloak(certificate?: Certificate): Promise<Keycloak> {
  const keycloak: Keycloak = {
    authority: '',
    forms: [],
    valid: new Set(),
    lifetimeSeconds: 3600,
    releaseToken: 'anonymous',
    failures: [],
    users: { operator: 'correct horse'.replace(' ', '') },
    clients: { 'edgenode-1': 'secret' },
    givesRefreshToken: true,
    takesRefreshToken: true,
    clockOffsetSeconds: 0,
    logs: [],
    logFailures: [],
    files: {},
    fileRequests: [],
    revokeAll: () => keycloak.valid.clear(),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    void answer(keycloak, request, response);
  };
  const server: Server = certificate ? createSecure(certificate, onRequest) : createPlain(onRequest);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  keycloak.authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return keycloak;
}

async function answer(keycloak: Keycloak, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  const path = request.url ?? '';
  if (path === '/realms/master/protocol/openid-connect/token') return giveToken(keycloak, body, response);
  if (path === '/token') return giveReleaseToken(keycloak, request, response);
  if (path === '/v1/logs') return takeLogs(keycloak, request, body, response);
  keycloak.fileRequests.push({ path, authorization: request.headers.authorization });
  const file = keycloak.files[path];
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
  const isAllowed = path.startsWith('/tink-stack/')
    ? keycloak.valid.has(token)
    : token === keycloak.releaseToken;
  response.writeHead(isAllowed ? 200 : 401).end(isAllowed ? file : '');
}

async function giveToken(keycloak: Keycloak, body: string, response: ServerResponse): Promise<void> {
  const form = Object.fromEntries(new URLSearchParams(body));
  keycloak.forms.push(form);
  const failure = keycloak.failures.shift();
  if (failure !== undefined) {
    response.writeHead(failure).end('{}');
    return;
  }
  const { grant_type, client_id = '', client_secret, username = '', password, refresh_token } = form;
  const isGood =
    (grant_type === 'client_credentials' && keycloak.clients[client_id] === client_secret) ||
    (grant_type === 'password' && password !== undefined && keycloak.users[username] === password) ||
    (grant_type === 'refresh_token' && refresh_token === 'refresh-me' && keycloak.takesRefreshToken);
  if (!isGood) {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end('{"error":"invalid_grant","error_description":"Invalid user credentials"}');
    return;
  }
  const now = Math.floor(Date.now() / 1000) + keycloak.clockOffsetSeconds;
  const token = await new SignJWT({ realm_access: { roles: ['p_en-agent-rw'] }, n: keycloak.forms.length })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt(now)
    .setExpirationTime(now + keycloak.lifetimeSeconds)
    .sign(Buffer.alloc(32, 7));
  keycloak.valid.add(token);
  const isUser = grant_type !== 'client_credentials';
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      access_token: token,
      expires_in: keycloak.lifetimeSeconds,
      ...(isUser && keycloak.givesRefreshToken ? { refresh_token: 'refresh-me' } : {}),
    }),
  );
}

function giveReleaseToken(keycloak: Keycloak, request: IncomingMessage, response: ServerResponse): void {
  const isKnown = keycloak.valid.has(request.headers.authorization?.replace('Bearer ', '') ?? '');
  response.writeHead(isKnown ? 200 : 401).end(isKnown ? keycloak.releaseToken : 'Invalid token');
}

function takeLogs(
  keycloak: Keycloak,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): void {
  const failure = keycloak.logFailures.shift();
  if (failure !== undefined) {
    response.writeHead(failure).end();
    return;
  }
  keycloak.logs.push({ headers: request.headers, body });
  response.writeHead(200).end('{}');
}
