import { createHmac, randomBytes } from 'node:crypto';
import type { HostId } from '../../protocol/ids.ts';
import { Channel, type Messenger } from '../store/messages.ts';

/** What a machine is told from others by: its TPM, or the key of its boot where it has none. */
export interface ShownMachine {
  by: 'tpm' | 'boot-key';
  /** Hash of the endorsement key, or code of the boot key. */
  id: string;
}

interface Waiting {
  machine: ShownMachine;
  /** What its console shows. */
  code: string;
  at: number;
}

/** A machine asks, or one was approved and nobody else waits to be this node. */
interface ApprovalChange {
  hostId: HostId;
  waiting: Waiting | null;
}

/** Who asks again keeps its place: an agent does so every 32 seconds at least. */
const WAITS_MS = 120_000;
/** Machines that say they are the same node; strangers who make up more push out only each other's oldest. */
const MOST_PER_NODE = 16;
const MOST_NODES = 10_000;
const DIGITS = 6;

/**
 * Machines that have shown which one they are, and wait for a person. Each is given a code of its own, for the node it says it is: the
 * person reads the code off the machine in front of them, so a stranger elsewhere is never the one that is approved. Kept in memory,
 * of every process: after a restart the machines ask again.
 */
export class Approvals {
  readonly #key = randomBytes(32);
  readonly #waiting = new Map<HostId, Map<string, Waiting>>();
  readonly #now: () => Date;
  readonly #channel: Channel<ApprovalChange>;

  constructor(messenger: Messenger, now: () => Date) {
    this.#now = now;
    this.#channel = new Channel(messenger, 'approval', (change) => this.#follow(change));
  }

  /** The code that the console of this machine is to show. */
  codeFor(hostId: HostId, machine: ShownMachine): string {
    const code = this.#code(hostId, machine);
    this.#channel.tell({ hostId, waiting: { machine, code, at: this.#now().getTime() } });
    return code;
  }

  /** The machine that shows this code; undefined if there is none, or more than one. */
  take(hostId: HostId, code: string): ShownMachine | undefined {
    const since = this.#now().getTime() - WAITS_MS;
    const typed = code.replaceAll(/[\s-]/g, '');
    const machines = [...(this.#waiting.get(hostId)?.values() ?? [])];
    const [found, ...others] = machines.filter(({ code: shown, at }) => at >= since && shown === typed);
    if (!found || others.length > 0) return undefined;
    this.#channel.tell({ hostId, waiting: null });
    return found.machine;
  }

  #follow({ hostId, waiting }: ApprovalChange): void {
    const machines = this.#waiting.get(hostId) ?? new Map<string, Waiting>();
    this.#waiting.delete(hostId);
    if (!waiting) return;
    const name = nameOf(waiting.machine);
    machines.delete(name);
    machines.set(name, waiting);
    dropOldest(machines, MOST_PER_NODE);
    this.#waiting.set(hostId, machines);
    dropOldest(this.#waiting, MOST_NODES);
  }

  #code(hostId: HostId, machine: ShownMachine): string {
    const text = `${hostId} ${nameOf(machine)}`;
    const number = createHmac('sha256', this.#key).update(text).digest().readUInt32BE();
    return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
  }
}

function nameOf({ by, id }: ShownMachine): string {
  return `${by} ${id}`;
}

function dropOldest(map: Map<unknown, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
