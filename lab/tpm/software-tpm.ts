import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TpmDevice } from '../../agent/tpm/device.ts';
import { run } from '../../system/run.ts';
import { waitFor } from '../../system/wait.ts';
import { kill, makeFolder, removeFolder, startGuarded } from '../qemu/processes.ts';

const RESPONSE_HEADER = 10;
const SIZE_AT = 2;

/** A TPM 2.0 of its own, without a machine around it. It talks to one program at a time: close a device before the next is opened. */
export class SoftwareTpm implements AsyncDisposable {
  /** For files of tpm2-tools, too. */
  readonly folder = makeFolder('tpm');
  readonly #socket = join(this.folder, 'socket');
  #process: ChildProcess | undefined;

  static async start(): Promise<SoftwareTpm> {
    const tpm = new SoftwareTpm();
    await tpm.#start();
    return tpm;
  }

  /** Off and on again: its keys are the same, its registers are zero. */
  async restart(): Promise<void> {
    if (this.#process) await kill(this.#process);
    await this.#start();
  }

  async open(): Promise<TpmDevice> {
    const socket = connect(this.#socket);
    const connected = Promise.withResolvers<void>();
    socket.once('connect', connected.resolve);
    socket.once('error', connected.reject);
    await connected.promise;
    return new SocketDevice(socket);
  }

  /** Runs one of tpm2-tools against it and gives what it prints. Paths are relative to the folder. */
  async tool(program: string, ...args: string[]): Promise<string> {
    const env = { ...process.env, TPM2TOOLS_TCTI: `swtpm:path=${this.#socket}` };
    const { stdout } = await run(program, args, { cwd: this.folder, env, timeoutMs: 60_000 });
    return stdout;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process) await kill(this.#process);
    removeFolder(this.folder);
  }

  async #start(): Promise<void> {
    const state = this.path('state');
    mkdirSync(state, { recursive: true });
    this.#process = startGuarded(
      'swtpm',
      [
        ...['socket', '--tpm2', '--tpmstate', `dir=${state}`, '--server', `type=unixio,path=${this.#socket}`],
        ...['--ctrl', `type=unixio,path=${this.#socket}.ctrl`, '--flags', 'not-need-init,startup-clear'],
      ],
      { stdio: 'ignore' },
    );
    await waitFor(() => (existsSync(this.#socket) && existsSync(`${this.#socket}.ctrl`) ? true : undefined), {
      name: 'the socket of the TPM',
      timeoutMs: 30_000,
      intervalMs: 20,
    });
  }
}

/** The TPM's own bytes over a stream: a response says its size in its header. */
class SocketDevice implements TpmDevice {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async transmit(command: Buffer): Promise<Buffer> {
    if (this.#socket.destroyed) throw new Error('the TPM has hung up');
    const response = Promise.withResolvers<Buffer>();
    const onData = (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      if (this.#received.length < RESPONSE_HEADER) return;
      const size = this.#received.readUInt32BE(SIZE_AT);
      if (this.#received.length < size) return;
      response.resolve(this.#received.subarray(0, size));
      this.#received = this.#received.subarray(size);
    };
    const onClose = () => response.reject(new Error('the TPM has hung up'));
    this.#socket.on('data', onData).once('close', onClose);
    this.#socket.write(command);
    try {
      return await response.promise;
    } finally {
      this.#socket.off('data', onData).off('close', onClose);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#socket.once('close', () => closed.resolve());
    this.#socket.destroy();
    await closed.promise;
  }
}
