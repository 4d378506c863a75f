import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { dropSchema, makeSchema } from '../../lab/postgres/cluster.ts';
import { type Stub, type StubOptions, startStub } from '../../orchestrator-stub/serve.ts';
import {
  NonInteractiveOnboardingService,
  OnboardNodeStreamRequestSchema,
  type OnboardNodeStreamResponse,
} from '../../protocol/generated/onboarding_pb.js';
import { openBidiStream } from '../../protocol/grpc-service.ts';

export interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  body: any;
}

export const NODE = {
  uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5',
  serialnum: 'ABC12345',
  macId: '52:54:00:12:34:56',
  hostIp: '10.0.2.15',
};

/** A stub in a folder (in the project "postgres": and a schema) of its own on free ports, with the two ways to talk to it. */
export class RunningStub implements AsyncDisposable {
  stub: Stub;
  readonly folder: string;
  readonly #options: Partial<StubOptions>;
  #clients: Client[] = [];

  private constructor(folder: string, options: Partial<StubOptions>, stub: Stub) {
    this.folder = folder;
    this.#options = options;
    this.stub = stub;
  }

  static async start(options: Partial<StubOptions> = {}): Promise<RunningStub> {
    const folder = await mkdtemp(join(tmpdir(), 'kindling-stub-'));
    const server = process.env['KINDLING_TEST_POSTGRES'];
    const database = server === undefined ? {} : { database: { url: await makeSchema(server) } };
    const all = { ...database, ...options };
    return new RunningStub(folder, all, await startStub(settings(folder, all)));
  }

  /** Stops the stub and starts it again on the same state and port; `meanwhile` happens in between. */
  async restart(changes: Partial<StubOptions> = {}, meanwhile?: () => Promise<void>): Promise<void> {
    const port = Number(new URL(this.stub.urls.http).port);
    this.#closeClients();
    await this.stub.close();
    await meanwhile?.();
    const isSecure = this.stub.urls.http.startsWith('https');
    const ports = isSecure ? { port } : { plainPort: port };
    this.stub = await startStub({ ...settings(this.folder, this.#options), ...ports, ...changes });
  }

  client(): Client {
    const { urls, ca } = this.stub;
    const isSecure = urls.http.startsWith('https');
    const client = new Client(
      // Node refuses an address as the TLS server name.
      urls.grpc.replace('127.0.0.1', 'localhost'),
      isSecure ? credentials.createSsl(Buffer.from(ca)) : credentials.createInsecure(),
    );
    this.#clients.push(client);
    return client;
  }

  async api(
    method: string,
    path: string,
    options: {
      json?: unknown;
      body?: string | Buffer;
      headers?: Record<string, string>;
      token?: string | null;
    } = {},
  ): Promise<ApiAnswer> {
    const token = options.token === undefined ? this.stub.token : options.token;
    const body = options.body ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
    const url = new URL(this.stub.urls.http);
    const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(
      {
        method,
        hostname: url.hostname,
        port: url.port,
        path,
        ca: this.stub.ca,
        agent: false,
        headers: {
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(options.json === undefined ? {} : { 'content-type': 'application/json' }),
          ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
          ...options.headers,
        },
      },
      async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: isJson && text ? JSON.parse(text) : undefined,
        });
      },
    );
    request.on('error', reject);
    request.end(body);
    return promise;
  }

  /** Opens the onboarding stream, sends one request, and gives the first answer and what became of the stream. */
  async knock(
    node: Partial<typeof NODE & { nodeKey: Uint8Array }> = {},
  ): Promise<OnboardNodeStreamResponse & { isStreamOpen: boolean }> {
    const call = openBidiStream(this.client(), NonInteractiveOnboardingService.method.onboardNodeStream);
    const { promise, resolve, reject } = Promise.withResolvers<OnboardNodeStreamResponse>();
    let isStreamOpen = true;
    call.on('data', resolve);
    call.on('end', () => {
      isStreamOpen = false;
    });
    call.on('error', reject);
    call.write(create(OnboardNodeStreamRequestSchema, { ...NODE, ...node }));
    const answer = await promise;
    await new Promise((settled) => setTimeout(settled, 25));
    call.end();
    return Object.assign(answer, { isStreamOpen });
  }

  /** Client credentials of the node for an access token. */
  async accessToken(client: { clientId: string; clientSecret: string }): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    });
    const answer = await this.grant(form);
    return answer.body.access_token;
  }

  grant(form: URLSearchParams): Promise<ApiAnswer> {
    return this.api('POST', '/realms/master/protocol/openid-connect/token', {
      body: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      token: null,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closeClients();
    await this.stub.close();
    if (this.#options.database) await dropSchema(this.#options.database.url);
    await rm(this.folder, { recursive: true, force: true });
  }

  #closeClients(): void {
    for (const client of this.#clients) client.close();
    this.#clients = [];
  }
}

function settings(folder: string, options: Partial<StubOptions>): StubOptions {
  return { stateFolder: folder, host: '127.0.0.1', port: false, plainPort: 0, ...options };
}

/** What a gRPC call failed with. */
export async function failure(call: Promise<unknown>): Promise<{ code: number; details: string }> {
  try {
    await call;
  } catch (thrown) {
    const { code, details } = thrown as ServiceError;
    return { code, details };
  }
  throw new Error('the call succeeded');
}
