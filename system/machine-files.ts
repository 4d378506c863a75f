import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Reads /sys, /proc, /dev and /etc of a machine. What is not there is undefined or empty, never an error: drivers differ in
 * what they tell. Tests give a folder as the root of a made-up machine.
 */
export interface MachineFiles {
  /** Absolute path on this system for a path on the machine. */
  path(path: string): string;
  /** Trimmed text; undefined if absent, unreadable or empty. */
  text(path: string): string | undefined;
  bytes(path: string): Buffer | undefined;
  /** Whole number in decimal or 0x… form. */
  number(path: string): number | undefined;
  /** Names in a folder, sorted so that sda2 comes before sda10. */
  names(path: string): string[];
  /** Where a symbolic link points, as a path on the machine with every link resolved. */
  resolved(path: string): string | undefined;
  /** Last part of a link's target: the name of a driver or a parent. */
  linkName(path: string): string | undefined;
}

export function machineFiles(root = '/'): MachineFiles {
  const path = (name: string) => join(root, name);
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch {
      return undefined;
    }
  };
  const text = (name: string) =>
    attempt(() => readFileSync(path(name), 'utf8').split('\0').join('').trim()) || undefined;
  return {
    path,
    text,
    bytes: (name) => attempt(() => readFileSync(path(name))),
    number(name) {
      const value = text(name);
      return value !== undefined && /^-?(\d+|0x[0-9a-f]+)$/i.test(value) ? Number(value) : undefined;
    },
    names: (name) => (attempt(() => readdirSync(path(name))) ?? []).sort(byNaturalOrder),
    resolved(name) {
      const real = attempt(() => realpathSync(path(name)));
      const base = realpathSync(root);
      if (real === undefined) return undefined;
      return base === '/' ? real : real.slice(base.length);
    },
    linkName: (name) =>
      attempt(() => readlinkSync(path(name)))
        ?.split('/')
        .at(-1),
  };
}

const collator = new Intl.Collator('en', { numeric: true });

function byNaturalOrder(a: string, b: string): number {
  return collator.compare(a, b);
}
