import { createReadStream } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { bootMachine, type Machine } from '../../../lab/qemu/machine.ts';
import type { DiskSpec, Firmware, KernelSpec } from '../../../lab/qemu/machine-spec.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { MicroOsShell } from '../micro-os-shell.ts';

type Variables = Record<string, string>;

/** A machine with a TPM at the debug shell of the full Micro-OS, and beside it a server that takes recovery keys. */
export class EncryptionLab implements AsyncDisposable {
  /** What the escrow was given, in order; and what it answers. */
  readonly escrowed: { keyId: string; recoveryKey: string; disk: { serial?: string } }[] = [];
  escrowStatus = 201;
  readonly machine: Machine;
  readonly shell: MicroOsShell;
  readonly #kernel: KernelSpec;
  readonly #server: Server;
  readonly #variables: Variables;

  private constructor(machine: Machine, kernel: KernelSpec, server: Server, variables: Variables) {
    this.machine = machine;
    this.#kernel = kernel;
    this.shell = new MicroOsShell(machine);
    this.#server = server;
    this.#variables = variables;
  }

  /** `download` is a file that the server gives to every caller; `variables` are those of every encryption. */
  static async start(options: {
    name: string;
    firmware?: Firmware;
    disks: readonly DiskSpec[];
    download?: string;
    variables?: Variables;
  }): Promise<EncryptionLab> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const kernel = await microOsKernel({ profile: 'full', cmdline: 'kindling.debug' });
    const machine = await bootMachine({
      name: options.name,
      ...(options.firmware ? { firmware: options.firmware } : {}),
      memoryMb: 1024,
      tpm: true,
      disks: options.disks,
      nics: [{ model: 'virtio' }],
      kernel,
    });
    const lab = new EncryptionLab(machine, kernel, server, options.variables ?? {});
    server.on('request', async (request, response) => {
      if (request.method !== 'POST') return void createReadStream(options.download ?? '').pipe(response);
      lab.escrowed.push(JSON.parse(await text(request)));
      response.writeHead(lab.escrowStatus).end('{}');
    });
    await lab.shell.ready();
    return lab;
  }

  /** The server as the machine sees it. */
  get url(): string {
    return `http://10.0.2.2:${(this.#server.address() as { port: number }).port}`;
  }

  /** The Micro-OS once more, after a power cut. */
  restart(): Promise<void> {
    return this.shell.restart(this.#kernel);
  }

  /** Runs a command that must succeed; gives what it printed. */
  async run(command: string): Promise<string> {
    const answer = await this.shell.run(command, 240_000);
    expect({ command, ...answer }).toMatchObject({ command, exitCode: 0 });
    return answer.output;
  }

  /** Runs an action that must succeed; gives what it printed. */
  async action(name: string, variables: Variables = {}): Promise<string> {
    const answer = await this.shell.action(name, variables);
    expect({ name, ...answer }).toMatchObject({ name, exitCode: 0 });
    return answer.output;
  }

  encrypt(variables: Variables = {}): Promise<{ output: string; exitCode: number }> {
    return this.shell.action('fde_dmv', this.#forEncryption(variables), 800_000);
  }

  /** Starts the encryption, with its progress on the console, and leaves it once a line is like the pattern; `$p` is its process. */
  async encryptUntil(pattern: RegExp, variables: Variables = {}): Promise<void> {
    const settings = Object.entries(this.#forEncryption(variables)).map((pair) => `--set ${pair.join('=')}`);
    const after = this.machine.console.mark();
    this.machine.console.type(`kindling-agent action fde_dmv ${settings.join(' ')} & p=$!\n`);
    await this.machine.console.waitFor(pattern, { after, timeoutMs: 600_000 });
  }

  #forEncryption(variables: Variables): Variables {
    return { KINDLING_ESCROW_URL: `${this.url}/escrow`, ...this.#variables, ...variables };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.machine[Symbol.asyncDispose]();
    this.#server.close();
  }
}
