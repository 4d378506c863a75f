import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Command } from 'commander';
import { type EventStreamOptions, readEvents } from '../net/event-stream.ts';
import { fetchText, type HttpNetwork, type HttpRequest, openResponse } from '../net/http.ts';
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

const STALL_MS = 60_000;

/** What is sent, and what it is. */
interface Content {
  type: string;
  bytes: string | Buffer;
}

/** How to reach the orchestrator: flags, then environment, then what `kindling serve` left in its state folder. */
export class ServerConnection {
  /** The site's CA, where this machine has it. */
  readonly ca: string | undefined;
  readonly #url: URL;
  readonly #network: HttpNetwork;
  readonly #token: string | undefined;

  constructor({ server, state }: ConnectionOptions, environment: NodeJS.ProcessEnv = process.env) {
    const kept = readIfThere(join(state, 'server-url'))?.trim();
    const text = server ?? environment['KINDLING_SERVER'] ?? kept ?? 'https://localhost:8443';
    if (!URL.canParse(text)) throw new KindlingError('KND_USAGE', `${text} is not a URL`);
    this.#url = new URL(text);
    this.ca = readIfThere(environment['KINDLING_CA'] ?? join(state, 'site-ca.crt'));
    // Without proxies: the orchestrator is in the operator's own network, and often on this machine.
    this.#network = this.ca === undefined ? {} : { trust: createSecureContext({ ca: this.ca }) };
    this.#token = environment['KINDLING_TOKEN'] ?? readIfThere(join(state, 'operator-token'))?.trim();
  }

  /** Address of the orchestrator, as agents want it. */
  get origin(): string {
    return this.#url.origin;
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const content =
      body === undefined ? undefined : { type: 'application/json', bytes: JSON.stringify(body) };
    const text = await this.#fetch(method, path, content);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Sends a file as it is. */
  async sendFile<T>(path: string, type: string, bytes: Buffer): Promise<T> {
    return JSON.parse(await this.#fetch('POST', path, { type, bytes })) as T;
  }

  /** An answer that is not JSON. */
  text(path: string): Promise<string> {
    return this.#fetch('GET', path);
  }

  /** An answer that is a file. */
  async download(method: string, path: string, body: unknown): Promise<Buffer> {
    const content = { type: 'application/json', bytes: JSON.stringify(body) };
    const response = await openResponse(
      this.#network,
      new URL(path, this.#url),
      this.#request(method, content),
    );
    if (response.status >= 400) throw problemOf(await response.text(), response.status, path);
    return response.bytes(Number.POSITIVE_INFINITY);
  }

  /** Server-sent events until the signal; a server that goes away is waited for, and goes on where it was. */
  async *events(
    path: string,
    options: Pick<EventStreamOptions, 'signal' | 'onOpen' | 'onLost'> = {},
  ): AsyncGenerator<{ type: string; data: unknown }> {
    const events = readEvents(this.#network, new URL(path, this.#url), {
      ...options,
      headers: this.#login,
      code: 'KND_STUB_UNREACHABLE',
      refusal: (status, text) => problemOf(text, status, path),
    });
    for await (const { type, data } of events) yield { type, data: JSON.parse(data) as unknown };
  }

  async #fetch(method: string, path: string, content?: Content): Promise<string> {
    const request = this.#request(method, content);
    const { status, body: text } = await fetchText(this.#network, new URL(path, this.#url), request);
    if (status >= 400) throw problemOf(text, status, path);
    return text;
  }

  #request(method: string, content: Content | undefined): HttpRequest {
    return {
      method,
      headers: { ...this.#login, ...(content ? { 'content-type': content.type } : {}) },
      ...(content ? { body: content.bytes } : {}),
      stallMs: STALL_MS,
      code: 'KND_STUB_UNREACHABLE',
    };
  }

  get #login(): Record<string, string> {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
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
