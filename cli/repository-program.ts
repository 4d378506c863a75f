import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { KindlingError } from '../protocol/error.ts';

const ENTRY = join(import.meta.dirname, '../setup/run.mjs');

/**
 * Becomes an npm command of the repository: virtual machines and the images they are given belong to the lab, which the product
 * does not import. The command brings what it needs (packages, root) as `npm run …` does.
 */
export function becomeRepositoryProgram(name: string, args: readonly string[]): void {
  if (!existsSync(ENTRY) || !process.execve) {
    throw new KindlingError('KND_TOOL_MISSING', 'this command works in Kindling’s repository only', {
      hint: 'Clone it, and type there: npm run kindling -- …',
    });
  }
  process.execve(process.execPath, [process.execPath, ENTRY, name, ...args], process.env);
}
