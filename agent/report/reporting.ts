import { randomUUID } from 'node:crypto';
import type { Waiting } from '../../net/retry.ts';
import type { KindlingError } from '../../protocol/error.ts';
import type { Config } from '../config/resolve-config.ts';
import { createLog, type Log } from './log.ts';
import { Ring } from './ring.ts';
import { type LogSink, Shipper } from './ship.ts';
import { SyslogSender } from './syslog.ts';

/** What the agent is doing or waiting for, in one line, for a status bar or a screen. */
export interface AgentStatus {
  text: string;
  /** What it is waiting for, without the times in `text`. */
  waitingFor?: string;
  /** Why it is waiting, if something is wrong. */
  error?: KindlingError;
}

export interface ReportingOptions {
  config: Config;
  onHumanLine?: ((line: string) => void) | undefined;
  onStatus?: ((status: AgentStatus) => void) | undefined;
}

const FLUSH_MS = 5000;

/** Everything the agent tells the world: its log, where the log goes, and what it is waiting for. */
export class Reporting {
  readonly log: Log;
  /** Names this run of the agent; with a sequence number it names a line once and for all. */
  readonly stream = randomUUID();
  readonly #ring = new Ring();
  readonly #onStatus: (status: AgentStatus) => void;
  readonly #shippers: Shipper[] = [];
  readonly #stop = new AbortController();
  #lastWaiting = '';

  constructor({ config, onHumanLine, onStatus }: ReportingOptions) {
    this.log = createLog({
      ring: this.#ring,
      level: config.logLevel,
      ...(onHumanLine ? { onHumanLine } : {}),
    });
    this.#onStatus = onStatus ?? (() => {});
    if (config.syslogHost !== undefined) {
      const sender = new SyslogSender(config.syslogHost, config.syslogPort);
      this.shipTo((entries) => sender.send(entries));
    }
  }

  /** Sends the log there as well, from its first line on. */
  shipTo(sink: LogSink): void {
    const shipper = new Shipper(this.#ring, sink);
    this.#shippers.push(shipper);
    void shipper.run(this.#stop.signal);
  }

  doing(text: string): void {
    this.#lastWaiting = '';
    this.#onStatus({ text });
  }

  /** Shows what is being waited for; logs it when it changes, and then ever more rarely. */
  readonly waiting = ({
    name,
    error,
    tries,
    sinceMs,
    nextTryMs,
  }: Pick<Waiting, 'name'> & Partial<Waiting>): void => {
    const since = sinceMs === undefined ? '' : ` since ${Math.round(sinceMs / 1000)} s`;
    const next = nextTryMs === undefined ? '' : `, next try in ${Math.ceil(nextTryMs / 1000)} s`;
    this.#onStatus({
      text: `waiting for ${name}${since}${next}`,
      waitingFor: name,
      ...(error ? { error } : {}),
    });
    const what = `${name} ${error?.code ?? ''} ${error?.message ?? ''}`;
    const isRound = tries !== undefined && Number.isInteger(Math.log2(tries));
    if (what === this.#lastWaiting && !isRound) return;
    this.#lastWaiting = what;
    if (!error) this.log.info(`waiting for ${name}`);
    else
      this.log.warn({ code: error.code, hint: error.hint, tries }, `waiting for ${name}: ${error.message}`);
  };

  /** Gives the log a last chance to get out, then stops. */
  async end(): Promise<void> {
    const deadline = AbortSignal.timeout(FLUSH_MS);
    const drained = Promise.all(this.#shippers.map((shipper) => shipper.drain(deadline)));
    const { promise: late, resolve } = Promise.withResolvers<void>();
    deadline.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([drained, late]);
    this.#stop.abort();
  }
}
