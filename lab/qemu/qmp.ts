import type { Duplex } from 'node:stream';
import { KindlingError } from '../../protocol/error.ts';

interface Reply {
  id?: number;
  return?: unknown;
  error?: { class: string; desc: string };
  event?: string;
  data?: Record<string, unknown>;
  QMP?: unknown;
}

/** QEMU's control channel (QMP): one JSON object per line; replies carry the id of their command, events come in between. */
export class Qmp {
  readonly #stream: Duplex;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #onEvent: (name: string, data: Record<string, unknown>) => void;
  #nextId = 1;
  #buffer = '';
  #isClosed = false;

  constructor(stream: Duplex, onEvent: (name: string, data: Record<string, unknown>) => void) {
    this.#stream = stream;
    this.#onEvent = onEvent;
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => this.#receive(chunk));
    stream.on('error', () => this.#close());
    stream.on('close', () => this.#close());
  }

  /** Runs one QMP command, `execute('set_link', { name: 'nic0', up: false })`, and gives what it returned. */
  execute(command: string, args: Record<string, unknown> = {}): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(closedError(command));
    const id = this.#nextId++;
    const pending = Promise.withResolvers<unknown>();
    this.#pending.set(id, pending);
    this.#stream.write(`${JSON.stringify({ execute: command, arguments: args, id })}\n`);
    return pending.promise;
  }

  /** Runs a command of QEMU's human monitor and gives its text. */
  async monitor(command: string): Promise<string> {
    return String(await this.execute('human-monitor-command', { 'command-line': command }));
  }

  #receive(chunk: string): void {
    this.#buffer += chunk;
    const lines = this.#buffer.split('\n');
    this.#buffer = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') this.#take(JSON.parse(line) as Reply);
  }

  #take(reply: Reply): void {
    if (reply.event !== undefined) {
      this.#onEvent(reply.event, reply.data ?? {});
      return;
    }
    const pending = this.#pending.get(reply.id ?? -1);
    if (!pending) return; // the greeting
    this.#pending.delete(reply.id ?? -1);
    if (reply.error) {
      pending.reject(new KindlingError('KND_VM_ENDED', `QEMU refused a command: ${reply.error.desc}`));
    } else {
      pending.resolve(reply.return);
    }
  }

  #close(): void {
    this.#isClosed = true;
    for (const pending of this.#pending.values()) pending.reject(closedError('a running command'));
    this.#pending.clear();
  }
}

function closedError(command: string): KindlingError {
  return new KindlingError('KND_VM_ENDED', `the virtual machine ended, so ${command} cannot be done`);
}
