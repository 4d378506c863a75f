import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const MAIN = new URL('../../cli/main.ts', import.meta.url).pathname;

export interface ServeOptions {
  /** A free one by default. */
  port?: number;
  /** URL of a PostgreSQL database. */
  database?: string;
}

/** `kindling serve` as a process of its own. */
export class ServedProcess {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(folder: string, { port = 0, database }: ServeOptions = {}): Promise<ServedProcess> {
    const address = ['--plain', '--host', '127.0.0.1', '--plain-port', String(port)];
    const child = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        MAIN,
        'serve',
        '--state',
        folder,
        ...address,
        ...(database === undefined ? [] : ['--database', database]),
        '--log',
        'error',
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    for await (const line of createInterface({ input: child.stdout })) {
      const given = /serves http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (given !== undefined) return new ServedProcess(child, Number(given));
    }
    throw new Error('kindling serve ended before it served');
  }

  async api(method: string, path: string, json?: unknown): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      ...(json === undefined
        ? {}
        : { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** After less than a few milliseconds, without giving the loop a rest that would always fall between two reports. */
  async killAfter(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (performance.now() < until) await Promise.resolve();
    await this.kill();
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}
