import type { NetbootClient } from './netboot-client.ts';

/** How soon a machine that was given iPXE must ask again to be caught in a loop. */
const LOOP_WINDOW_MS = 60_000;
/** Machines that are remembered; the one that was silent longest is forgotten first. */
export const MAX_MACHINES = 4096;

/**
 * What each machine was given last. An iPXE that ignores autoexec.ipxe (Debian 12's, started by the option ROM of its
 * QEMU under UEFI) asks as a foreign one would; given itself again it would load itself for ever. So a machine that comes
 * back as a foreign iPXE soon after it got ours is given the script.
 */
export class BootHistory {
  readonly #last = new Map<string, { transactionId: number; atMs: number; gave: 'binary' | 'script' }>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Whether this machine is in the loop; also notes what it is given now. */
  isLooping(client: NetbootClient, transactionId: number): boolean {
    const last = this.#last.get(client.mac);
    const atMs = this.#nowMs();
    // An offer and its acknowledgment, or one sent again, belong to one conversation and get one answer.
    const isSameTalk = last?.transactionId === transactionId;
    const cameBack = last?.gave === 'binary' && atMs - last.atMs < LOOP_WINDOW_MS;
    const isLooping = client.stage === 'foreign-ipxe' && (isSameTalk ? last.gave === 'script' : cameBack);
    const gave = isLooping || client.stage === 'our-ipxe' ? 'script' : 'binary';
    this.#last.delete(client.mac);
    this.#last.set(client.mac, { transactionId, atMs, gave });
    const oldest = this.#last.keys().next().value;
    if (this.#last.size > MAX_MACHINES && oldest !== undefined) this.#last.delete(oldest);
    return isLooping;
  }
}
