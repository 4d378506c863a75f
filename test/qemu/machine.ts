/**
 * Virtual machines for tests, for `npm run qemu` and for the demo.
 *
 *   await using machine = await bootMachine({
 *     firmware: 'ovmf',
 *     memoryMb: 384,
 *     disks: [{ bus: 'nvme', size: '4G', serial: 'A1' }],
 *     nics: [{ model: 'virtio' }],                                // QEMU's own network: DHCP, host is 10.0.2.2
 *     kernel: { kernel: vmlinuz, initrd: initramfs, cmdline: 'console=ttyS0' },
 *   });
 *   await machine.console.waitFor(/login:/, { timeoutMs: 60_000 }); // fails with the last console lines
 *   machine.console.type('root\n');
 *   await machine.powerCut();                                    // like pulling the plug
 *   const firstMiB = await machine.disks[0]?.read(0, 2 ** 20);
 *   await machine.powerOn();                                     // same disks, EFI variables and TPM
 *   await machine.waitForPowerOff();
 *
 * `createMachine` makes it without switching it on. What a machine can have: machine-spec.ts. Bridges, namespaces and
 * a real DHCP server: network.ts. The Micro-OS in a machine: micro-os.ts. Whatever happens, leaving the scope ends QEMU
 * and removes the files; docs/how-to/test-with-qemu.md has more.
 */
import type { ChildProcess } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex, Readable, Writable } from 'node:stream';
import { waitFor } from '../../agent/system/wait.ts';
import { KindlingError } from '../../protocol/error.ts';
import { chooseAccelerator } from './accelerator.ts';
import { type MachineFiles, qemuArguments } from './command-line.ts';
import { SerialConsole } from './console.ts';
import { DiskFile } from './disk-file.ts';
import { type EfiVariable, parseEfiVariables } from './efi-variables.ts';
import { efiVariableTemplate } from './firmware.ts';
import type { MachineSpec } from './machine-spec.ts';
import { Bridge } from './network.ts';
import { kill, makeFolder, removeFolder, startGuarded } from './processes.ts';
import { Qmp } from './qmp.ts';
import { startTpm } from './swtpm.ts';

/** Makes a machine; it is off. */
export async function createMachine(spec: MachineSpec): Promise<Machine> {
  const folder = makeFolder('vm');
  try {
    const disks = await Promise.all(
      (spec.disks ?? []).map((disk, index) => DiskFile.create(disk, folder, index)),
    );
    return new Machine(spec, folder, disks);
  } catch (thrown) {
    removeFolder(folder);
    throw thrown;
  }
}

/** Makes a machine and switches it on. */
export async function bootMachine(spec: MachineSpec): Promise<Machine> {
  const machine = await createMachine(spec);
  try {
    await machine.powerOn();
    return machine;
  } catch (thrown) {
    await machine[Symbol.asyncDispose]();
    throw thrown;
  }
}

/** One power-on of a machine: from the start of QEMU to its end. */
interface Session {
  qemu: ChildProcess;
  qmp: Qmp;
  console: SerialConsole;
  secondConsole: SerialConsole | undefined;
  stderr: string;
  /** Resolves when QEMU is gone and everything it said has arrived. */
  closed: Promise<void>;
}

export interface MachineEvent {
  /** As QMP names them: RESET, SHUTDOWN, POWERDOWN, … */
  name: string;
  atMs: number;
  data: Record<string, unknown>;
}

export class Machine implements AsyncDisposable {
  readonly disks: readonly DiskFile[];
  /** What QEMU told about the present power-on: resets, shutdown. */
  events: MachineEvent[] = [];
  #spec: MachineSpec;
  readonly #folder: string;
  readonly #taps: (string | undefined)[] = [];
  #session: Session | undefined;
  #poweredOnAt = 0;
  #powerOns = 0;

  constructor(spec: MachineSpec, folder: string, disks: readonly DiskFile[]) {
    this.#spec = spec;
    this.#folder = folder;
    this.disks = disks;
    if (this.#hasEfi) copyFileSync(efiVariableTemplate(spec), this.#efiVariableFile);
  }

  get isOn(): boolean {
    return (
      this.#session !== undefined &&
      this.#session.qemu.exitCode === null &&
      this.#session.qemu.signalCode === null
    );
  }

  /** The console of the present (or last) power-on. */
  get console(): SerialConsole {
    return this.#lastSession.console;
  }

  /** Of the second serial port, if the spec asked for one. */
  get secondConsole(): SerialConsole {
    const { secondConsole } = this.#lastSession;
    if (!secondConsole)
      throw new KindlingError('KND_USAGE', 'this machine was made without a second serial port');
    return secondConsole;
  }

  /** QEMU's control channel. */
  get qmp(): Qmp {
    return this.#lastSession.qmp;
  }

  get pid(): number {
    return this.#lastSession.qemu.pid ?? 0;
  }

  /** Since power-on. */
  get elapsedMs(): number {
    return performance.now() - this.#poweredOnAt;
  }

  /** Switches the machine on. `changes` alter the spec from now on (another kernel, other memory); disks stay. */
  async powerOn(changes: Omit<MachineSpec, 'disks'> = {}): Promise<void> {
    if (this.isOn) throw new KindlingError('KND_USAGE', 'the machine is already on');
    this.#spec = { ...this.#spec, ...changes };
    this.#powerOns += 1;
    this.events = [];
    const args = qemuArguments(this.#spec, await this.#files(), await chooseAccelerator());
    const session = this.#startQemu([...this.#namespacePrefix(), 'qemu-system-x86_64', ...args]);
    this.#session = session;
    try {
      await session.qmp.execute('qmp_capabilities');
      for (const [index, nic] of (this.#spec.nics ?? []).entries()) {
        if (nic.link === 'down') await this.setLink(index, 'down');
      }
      this.#poweredOnAt = performance.now();
      await session.qmp.execute('cont');
    } catch (thrown) {
      await this.powerCut();
      await session.closed;
      throw startError(session.stderr, thrown);
    }
  }

  /** Pulls the plug: QEMU is killed. */
  async powerCut(): Promise<void> {
    if (this.#session) await kill(this.#session.qemu);
  }

  /** Presses the reset button. */
  async reset(): Promise<void> {
    await this.qmp.execute('system_reset');
  }

  /** Waits until the machine switched itself off. */
  async waitForPowerOff({ timeoutMs = 60_000 } = {}): Promise<void> {
    await waitFor(() => (this.isOn ? undefined : true), {
      name: `power-off of ${this.#spec.name ?? 'the machine'}`,
      timeoutMs,
      intervalMs: 50,
    }).catch((cause: unknown) => {
      const tail = this.console.lines.slice(-25).map(({ text }) => `  | ${text}`);
      throw new KindlingError('KND_TIMEOUT', `the machine did not switch itself off\n${tail.join('\n')}`, {
        cause,
      });
    });
  }

  /** Plugs the cable of a NIC in or out. */
  async setLink(nic: number, link: 'up' | 'down'): Promise<void> {
    await this.qmp.execute('set_link', { name: `nic${nic}`, up: link === 'up' });
  }

  /** The EFI variables as they are in flash now. */
  efiVariables(): EfiVariable[] {
    if (!this.#hasEfi) throw new KindlingError('KND_USAGE', 'a BIOS machine has no EFI variables');
    return parseEfiVariables(readFileSync(this.#efiVariableFile));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.powerCut();
    removeFolder(this.#folder);
  }

  get #lastSession(): Session {
    if (!this.#session) throw new KindlingError('KND_USAGE', 'the machine was never switched on');
    return this.#session;
  }

  get #hasEfi(): boolean {
    return (this.#spec.firmware ?? 'seabios') !== 'seabios';
  }

  get #efiVariableFile(): string {
    return join(this.#folder, 'efi-variables.fd');
  }

  async #files(): Promise<MachineFiles> {
    for (const [index, nic] of (this.#spec.nics ?? []).entries()) {
      if (nic.network instanceof Bridge) this.#taps[index] ??= await nic.network.addTap();
    }
    const initrd = this.#initrd();
    return {
      disks: this.disks.map(({ path }) => path),
      taps: this.#taps,
      ...(initrd ? { initrd } : {}),
      ...(this.#hasEfi ? { efiVariables: this.#efiVariableFile } : {}),
      ...(this.#spec.tpm ? { tpmSocket: await startTpm(this.#folder, this.#powerOns) } : {}),
    };
  }

  /** The kernel takes several archives one after the other, each starting at a multiple of four bytes. */
  #initrd(): string | undefined {
    const initrds = [this.#spec.kernel?.initrd ?? []].flat();
    if (initrds.length <= 1) return initrds[0];
    const joined = join(this.#folder, 'initrd');
    const padded = initrds.map((file) => {
      const bytes = readFileSync(file);
      return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
    });
    writeFileSync(joined, Buffer.concat(padded));
    return joined;
  }

  #namespacePrefix(): readonly string[] {
    const bridges = (this.#spec.nics ?? [])
      .map(({ network }) => network)
      .filter((network) => network instanceof Bridge);
    const namespaces = new Set(bridges.map(({ namespace }) => namespace));
    if (namespaces.size > 1) {
      throw new KindlingError(
        'KND_USAGE',
        'all bridges of a machine must belong to one test network (use addBridge)',
      );
    }
    return [...namespaces][0]?.enter ?? [];
  }

  #startQemu([program = '', ...args]: string[]): Session {
    const qemu = startGuarded(program, args, { stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'] });
    const [stdin, stdout, stderr, qmp, serial2] = qemu.stdio as [
      Writable,
      Readable,
      Readable,
      Duplex,
      Duplex,
    ];
    const elapsedMs = () => this.elapsedMs;
    const closed = Promise.withResolvers<void>();
    const session: Session = {
      qemu,
      qmp: new Qmp(qmp, (name, data) => this.events.push({ name, data, atMs: this.elapsedMs })),
      console: connect(stdin, stdout, elapsedMs),
      secondConsole: this.#spec.secondSerial ? connect(serial2, serial2, elapsedMs) : undefined,
      stderr: '',
      closed: closed.promise,
    };
    stderr.setEncoding('utf8').on('data', (text: string) => {
      session.stderr += text;
    });
    qemu.on('close', (exitCode, signal) => {
      const how = signal ? `was killed (${signal})` : `ended with exit code ${exitCode}`;
      const reason = `QEMU ${how}${session.stderr ? `: ${session.stderr.trim()}` : ''}`;
      session.console.end(reason);
      session.secondConsole?.end(reason);
      closed.resolve();
    });
    if (process.env['KINDLING_VM_CONSOLE']) {
      session.console.onLine(({ text, atMs }) =>
        process.stderr.write(`${(atMs / 1000).toFixed(1)} ${text}\n`),
      );
    }
    return session;
  }
}

function connect(input: Writable, output: Readable, elapsedMs: () => number): SerialConsole {
  input.on('error', () => {}); // typing into a machine that has just been switched off
  const serial = new SerialConsole({ write: (text) => void input.write(text), elapsedMs });
  output.setEncoding('utf8').on('data', (chunk: string) => serial.receive(chunk));
  output.on('error', () => {});
  return serial;
}

function startError(stderr: string, cause: unknown): KindlingError {
  if (stderr.includes('failed to execute')) {
    return new KindlingError('KND_TOOL_MISSING', 'qemu-system-x86_64 is not installed', {
      hint: 'Install the Debian package qemu-system-x86.',
      cause,
    });
  }
  return new KindlingError('KND_VM_ENDED', `QEMU did not start: ${stderr.trim() || 'it said nothing'}`, {
    cause,
  });
}
