import { generateBz2Machine } from './generate-bz2-machine.ts';
import { generateProtocol } from './generate-protocol.ts';

/** Makes the code that stays out of git. Offline, and a matter of milliseconds when nothing has changed. */
export function generateCode(): void {
  generateProtocol();
  generateBz2Machine();
}

if (import.meta.main) generateCode();
