import { appendFile, mkdir, readFile, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import type { Run } from '../../system/run.ts';
import { removeOurPassword } from './ata-password.ts';
import { removeMapping } from './remove-mapping.ts';
import { runtimeCommand } from './runtime-command.ts';

/** Something that outlives the process that took it, described well enough for another process to undo it. */
export type LedgerEntry =
  | { kind: 'mount'; target: string; removeTarget?: boolean }
  | { kind: 'loop'; device: string }
  | { kind: 'mapping'; name: string }
  | { kind: 'nbd'; device: string }
  | { kind: 'renamed'; from: string; to: string }
  | { kind: 'container'; id: string; runtime: string }
  | { kind: 'folder'; path: string }
  | { kind: 'ata-password'; device: string };

interface LedgerLine {
  op: 'take' | 'released';
  entry: LedgerEntry;
}

/** What one action has taken and not yet given back, as lines in a file that survives the action being killed. */
export class Ledger {
  readonly #path: string | undefined;

  constructor(ledgerPath: string | undefined) {
    this.#path = ledgerPath;
  }

  async note(op: LedgerLine['op'], entry: LedgerEntry): Promise<void> {
    if (this.#path === undefined) return;
    await mkdir(path.dirname(this.#path), { recursive: true, mode: 0o700 });
    await appendFile(this.#path, `${JSON.stringify({ op, entry } satisfies LedgerLine)}\n`);
  }

  /** Nothing is held any more. */
  async close(): Promise<void> {
    if (this.#path !== undefined) await rm(this.#path, { force: true });
  }
}

/** Pure: which entries of a ledger were taken and never released, last taken first. */
export function leftovers(ledgerText: string): LedgerEntry[] {
  const held: LedgerEntry[] = [];
  for (const line of ledgerText.split('\n').filter(Boolean)) {
    let parsed: LedgerLine;
    try {
      parsed = JSON.parse(line) as LedgerLine;
    } catch {
      continue; // the line that was being written when the power or the process went
    }
    if (parsed.op === 'take') held.push(parsed.entry);
    else {
      const text = JSON.stringify(parsed.entry);
      const index = held.findLastIndex((entry) => JSON.stringify(entry) === text);
      if (index >= 0) held.splice(index, 1);
    }
  }
  return held.reverse();
}

/** Undoes what a killed action left behind. Entries that were noted but never really taken fail harmlessly. */
export async function releaseLeftovers(ledgerPath: string, run: Run): Promise<LedgerEntry[]> {
  const text = await readFile(ledgerPath, 'utf8').catch(() => '');
  const left = leftovers(text);
  for (const entry of left) await undo(entry, run).catch(() => {});
  await rm(ledgerPath, { force: true });
  return left;
}

async function undo(entry: LedgerEntry, run: Run): Promise<void> {
  switch (entry.kind) {
    case 'mount':
      // Noted before it is mounted: whether or not it came to that, the directory goes. One that is still a mount cannot be removed.
      await run('umount', [entry.target])
        .catch(() => run('umount', ['-l', entry.target]))
        .catch(() => {});
      if (entry.removeTarget) await rmdir(entry.target);
      return;
    case 'loop':
      await run('losetup', ['-d', entry.device]);
      return;
    case 'mapping':
      await removeMapping(run, entry.name);
      return;
    case 'nbd':
      await run('qemu-nbd', ['--disconnect', entry.device]);
      return;
    case 'renamed':
      await run('mv', [entry.to, entry.from]);
      return;
    case 'container':
      await run(...runtimeCommand(entry.runtime, ['delete', '--force', entry.id]));
      return;
    case 'folder':
      await rm(entry.path, { recursive: true, force: true });
      return;
    case 'ata-password':
      await removeOurPassword(entry.device, run);
      return;
  }
}
