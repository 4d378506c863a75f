import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type ErrorReport, KindlingError } from '../protocol/error.ts';
import { fromReport } from '../protocol/error-report.ts';
import { defaultStateFolder } from '../site/state-folder.ts';
import { readIfThere } from '../system/read-if-there.ts';

/** Options that every command has which talks to a running orchestrator. */
export interface ConnectionOptions {
  server?: string;
  state: string;
  output: 'table' | 'json';
}

export function withConnection(command: Command): Command {
  return command
    .option(
      '--server <url>',
      'the orchestrator (default: the one that uses the state folder; env KINDLING_SERVER)',
    )
    .option('--state <folder>', 'its state folder: CA and token are read from there', defaultStateFolder())
    .option('-o, --output <format>', 'table or json', checkFormat, 'table');
}

function checkFormat(value: string): string {
  if (value !== 'table' && value !== 'json')
    throw new KindlingError('KND_USAGE', `--output is table or json, not ${value}`);
  return value;
}

/** How to reach the orchestrator: flags, then environment, then what `kindling serve` left in its state folder. */
export class ServerConnection {
  readonly #url: URL;
  readonly #ca: string | undefined;
  readonly #token: string | undefined;

  constructor({ server, state }: ConnectionOptions, environment: NodeJS.ProcessEnv = process.env) {
    const kept = readIfThere(join(state, 'server-url'))?.trim();
    const text = server ?? environment['KINDLING_SERVER'] ?? kept ?? 'https://localhost:8443';
    if (!URL.canParse(text)) throw new KindlingError('KND_USAGE', `${text} is not a URL`);
    this.#url = new URL(text);
    this.#ca = readIfThere(environment['KINDLING_CA'] ?? join(state, 'site-ca.crt'));
    this.#token = environment['KINDLING_TOKEN'] ?? readIfThere(join(state, 'operator-token'))?.trim();
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.#send(method, path, body);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    if ((response.statusCode ?? 500) >= 400) throw problemOf(text, response.statusCode ?? 500, path);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Server-sent events until the connection ends. */
  async *events(path: string, signal?: AbortSignal): AsyncGenerator<{ type: string; data: unknown }> {
    const response = await this.#send('GET', path, undefined, signal);
    if (response.statusCode !== 200) throw problemOf('', response.statusCode ?? 500, path);
    let buffer = '';
    response.setEncoding('utf8');
    try {
      for await (const chunk of response) {
        buffer += chunk as string;
        const blocks = buffer.split('\n\n');
        buffer = blocks.pop() ?? '';
        for (const block of blocks) {
          const type = /^event: (.*)$/m.exec(block)?.[1];
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (type && data) yield { type, data: JSON.parse(data) as unknown };
        }
      }
    } catch (thrown) {
      if (!signal?.aborted) throw this.#unreachable(thrown);
    }
  }

  #send(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const send = this.#url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(
      new URL(path, this.#url),
      {
        method,
        ...(this.#ca ? { ca: this.#ca } : {}),
        ...(signal ? { signal } : {}),
        headers: {
          ...(this.#token ? { authorization: `Bearer ${this.#token}` } : {}),
          ...(text === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        },
      },
      resolve,
    );
    request.on('error', (cause) => reject(this.#unreachable(cause)));
    request.end(text);
    return promise;
  }

  #unreachable(cause: unknown): KindlingError {
    return new KindlingError('KND_STUB_UNREACHABLE', `${this.#url.origin} does not answer`, { cause });
  }
}

/** The server's problem as the error it was there: same code, same exit code. */
function problemOf(text: string, status: number, path: string): KindlingError {
  let problem: Partial<ErrorReport> & { title?: string } = {};
  try {
    problem = JSON.parse(text) as typeof problem;
  } catch {
    // whatever answered is not ours; said below
  }
  return fromReport({ ...problem, message: problem.title ?? `the server answered ${status} to ${path}` });
}
