import type { DhcpEvent } from './dhcp/dhcp-server.ts';
import type { TftpEvent } from './tftp/tftp-server.ts';

/** A machine that asks again and again for the same reason in vain is told of once in this time. */
const REPEAT_MS = 60_000;
const MAX_REMEMBERED = 4096;

/** The lines of a server for network boot: a time, a machine, what it was given or why it was given nothing. */
export class NetbootLog {
  readonly #silentSince = new Map<string, number>();
  readonly #write: (line: string) => void;
  readonly #now: () => Date;

  constructor(write: (line: string) => void, now: () => Date = () => new Date()) {
    this.#write = write;
    this.#now = now;
  }

  dhcp({ mac, answered, reason }: DhcpEvent): void {
    if (answered) this.say(`dhcp ${mac}: ${reason}`);
    else if (!this.#wasSaid(`${mac} ${reason}`))
      this.say(`dhcp ${mac || 'somebody'}: not answered: ${reason}`);
  }

  tftp({ client, file, outcome, bytes, durationMs }: TftpEvent): void {
    this.say(`tftp ${client} ${file}: ${outcome}, ${bytes} bytes in ${durationMs.toFixed(0)} ms`);
  }

  say(text: string): void {
    this.#write(`${this.#now().toTimeString().slice(0, 8)} ${text}`);
  }

  #wasSaid(what: string): boolean {
    const nowMs = this.#now().getTime();
    const saidAt = this.#silentSince.get(what);
    if (saidAt !== undefined && nowMs - saidAt < REPEAT_MS) return true;
    this.#silentSince.delete(what);
    this.#silentSince.set(what, nowMs);
    const oldest = this.#silentSince.keys().next().value;
    if (this.#silentSince.size > MAX_REMEMBERED && oldest !== undefined) this.#silentSince.delete(oldest);
    return false;
  }
}
