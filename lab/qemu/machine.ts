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
 *   await machine.console.waitFor(/login: $/, { prompt: true, timeoutMs: 60_000 }); // fails with the last console lines
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
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { waitFor } from '../../system/wait.ts';
import { chooseAccelerator } from './accelerator.ts';
import { type MachineFiles, qemuArguments } from './command-line.ts';
import type { SerialConsole } from './console.ts';
import { DiskFile } from './disk-file.ts';
import { type EfiVariable, parseEfiVariables } from './efi-variables.ts';
import { efiVariableTemplate } from './firmware.ts';
import type { MachineSpec } from './machine-spec.ts';
import { Bridge } from './network.ts';
import { kill, makeFolder, removeFolder } from './processes.ts';
import type { Qmp } from './qmp.ts';
import { type Session, startError, startSession } from './session.ts';
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
    const session = startSession([...this.#namespacePrefix(), 'qemu-system-x86_64', ...args], {
      hasSecondSerial: this.#spec.secondSerial ?? false,
      elapsedMs: () => this.elapsedMs,
      onEvent: (name, data) => this.events.push({ name, data, atMs: this.elapsedMs }),
    });
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
      throw startError(session, thrown);
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

  /** Waits until the machine switched itself off, and everything it said has arrived. */
  async waitForPowerOff({ timeoutMs = 120_000 } = {}): Promise<void> {
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
    await this.#lastSession.closed;
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
}
