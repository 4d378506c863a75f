import { createHmac, randomBytes } from 'node:crypto';
import type { HostId } from '../../protocol/ids.ts';

interface Waiting {
  ekHash: string;
  at: number;
}

/** Who asks again keeps its place: an agent does so every 32 seconds at least. */
const WAITS_MS = 120_000;
/** Machines that say they are the same node; strangers who make up more push out only each other's oldest. */
const MOST_PER_NODE = 16;
const MOST_NODES = 10_000;
const DIGITS = 6;

/**
 * Machines that have proven which TPM they have, and wait for a person. Each is given a code of its own, for the node it says it is: the
 * person reads the code off the machine in front of them, so a stranger elsewhere is never the one that is approved. Kept in memory:
 * after a restart the machines ask again.
 */
export class Approvals {
  readonly #key = randomBytes(32);
  readonly #waiting = new Map<HostId, Map<string, Waiting>>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** The code that the console of this machine is to show. */
  codeFor(hostId: HostId, ekHash: string): string {
    const code = this.#code(hostId, ekHash);
    const machines = this.#waiting.get(hostId) ?? new Map<string, Waiting>();
    machines.delete(ekHash);
    machines.set(ekHash, { ekHash, at: this.#now().getTime() });
    dropOldest(machines, MOST_PER_NODE);
    this.#waiting.delete(hostId);
    this.#waiting.set(hostId, machines);
    dropOldest(this.#waiting, MOST_NODES);
    return code;
  }

  /** Hash of the TPM that shows this code; undefined if there is none, or more than one. */
  take(hostId: HostId, code: string): string | undefined {
    const since = this.#now().getTime() - WAITS_MS;
    const typed = code.replaceAll(/[\s-]/g, '');
    const machines = [...(this.#waiting.get(hostId)?.values() ?? [])];
    const [found, ...others] = machines.filter(
      ({ ekHash, at }) => at >= since && this.#code(hostId, ekHash) === typed,
    );
    if (!found || others.length > 0) return undefined;
    this.#waiting.delete(hostId);
    return found.ekHash;
  }

  #code(hostId: HostId, ekHash: string): string {
    const number = createHmac('sha256', this.#key).update(`${hostId} ${ekHash}`).digest().readUInt32BE();
    return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
  }
}

function dropOldest(map: Map<unknown, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
