import type { Machine } from '../../lab/qemu/machine.ts';
import type { KernelSpec } from '../../lab/qemu/machine-spec.ts';

/** The debug shell of a Micro-OS (kernel argument kindling.debug): several actions in one boot, which costs most of the time. */
export class MicroOsShell {
  readonly #machine: Pick<Machine, 'console' | 'powerCut' | 'powerOn'>;
  #count = 0;

  constructor(machine: Pick<Machine, 'console' | 'powerCut' | 'powerOn'>) {
    this.#machine = machine;
  }

  /** Waits until the Micro-OS has started as far as its network. */
  async ready(): Promise<void> {
    await this.#machine.console.waitFor(/KINDLING-STAGE \{"stage":"network"/, { timeoutMs: 280_000 });
  }

  /** Pulls the plug, if that has not happened yet, and starts the Micro-OS with the disks the machine has. */
  async restart(kernel: KernelSpec): Promise<void> {
    await this.#machine.powerCut();
    await this.#machine.powerOn({ kernel });
    await this.ready();
  }

  /** Runs one command; resolves with what it printed and how it ended. */
  async run(command: string, timeoutMs = 120_000): Promise<{ output: string; exitCode: number }> {
    const deadline = performance.now() + timeoutMs;
    let answer = await this.#ask(`{ ${command}; } >/tmp/out 2>&1; e=$?`, timeoutMs);
    // The kernel writes to the same line: what it tore apart is asked for once more.
    while (answer.output.length !== answer.bytes && performance.now() < deadline)
      answer = await this.#ask(':', timeoutMs);
    const { output, exitCode } = answer;
    return { output: output.toString(), exitCode };
  }

  /** Types a line of shell, and reads what lies in /tmp/out and `$e` after it; the file keeps boot messages out of the output. */
  async #ask(line: string, timeoutMs: number): Promise<{ output: Buffer; bytes: number; exitCode: number }> {
    const { console } = this.#machine;
    const id = `K${++this.#count}`;
    const after = console.mark();
    // Joined by the shell, so that the marker is not in the line the terminal echoes; twice, for the kernel tears only one.
    const marker = `echo ${id}''=$e=$(wc -c </tmp/out)=`;
    console.type(`${line}; echo; base64 /tmp/out | sed 's/^/${id}''-/'; ${marker}; ${marker}\n`);
    const { groups } = await console.waitFor(new RegExp(`${id}=(\\d+)=(\\d+)=`), { after, timeoutMs });
    const encoded = console.lines
      .slice(after)
      .flatMap(({ text }) => new RegExp(`^${id}-([A-Za-z0-9+/=]+)$`).exec(text.trim())?.[1] ?? [])
      .join('');
    return {
      output: Buffer.from(encoded, 'base64'),
      bytes: Number(groups[2]),
      exitCode: Number(groups[1]),
    };
  }

  /** Runs an action by hand, as an engineer would. */
  action(name: string, variables: Record<string, string> = {}, timeoutMs?: number) {
    return this.run(actionLine(name, variables), timeoutMs);
  }

  /**
   * Runs an action and kills it outright while it waits for a program that it has started. What that does first is `script`, which
   * may hand over to the real one; then it waits for ever.
   */
  killedIn(program: string, script: string, name: string, variables: Record<string, string> = {}) {
    const instead = Buffer.from(`#!/bin/sh\n${script}\ntouch /tmp/stopped\nexec sleep 10000\n`);
    return this.run(
      [
        `rm -rf /tmp/instead /tmp/stopped; mkdir /tmp/instead; echo ${instead.toString('base64')} | base64 -d > /tmp/instead/${program}`,
        `chmod +x /tmp/instead/${program}; PATH=/tmp/instead:$PATH ${actionLine(name, variables)} & p=$!`,
        'until [ -e /tmp/stopped ] || ! kill -0 $p; do sleep 0.1; done; kill -9 $p; wait $p',
      ].join('; '),
    );
  }
}

function actionLine(name: string, variables: Record<string, string>): string {
  const settings = Object.entries(variables).map(
    ([key, value]) => ` --set '${key}=${value.replaceAll("'", "'\\''")}'`,
  );
  return `kindling-agent action ${name}${settings.join('')}`;
}
