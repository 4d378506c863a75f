import type { Machine } from '../../lab/qemu/machine.ts';

/** The debug shell of a Micro-OS (kernel argument kindling.debug): several actions in one boot, which costs most of the time. */
export class MicroOsShell {
  readonly #machine: Machine;
  #count = 0;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Runs one command; resolves with what it printed and how it ended. */
  async run(command: string, timeoutMs = 120_000): Promise<{ output: string; exitCode: number }> {
    const { console } = this.#machine;
    const id = `K${++this.#count}`;
    const after = console.mark();
    // Joined by the shell, so that the marker is not in the line the terminal echoes. The file keeps boot messages out of the output.
    console.type(
      `{ ${command}; } >/tmp/out 2>&1; e=$?; echo; base64 /tmp/out | sed 's/^/${id}''-/'; echo ${id}''=$e=\n`,
    );
    const { groups } = await console.waitFor(new RegExp(`${id}=(\\d+)=`), { after, timeoutMs });
    const encoded = console.lines
      .slice(after)
      .flatMap(({ text }) => new RegExp(`^${id}-([A-Za-z0-9+/=]+)$`).exec(text.trim())?.[1] ?? [])
      .join('');
    return { output: Buffer.from(encoded, 'base64').toString(), exitCode: Number(groups[1]) };
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
