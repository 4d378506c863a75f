import { generateConsole } from './generate-console.ts';
import { generateMachines } from './generate-machines.ts';
import { generateProtocol } from './generate-protocol.ts';

/** Makes the code that stays out of git. Offline, and a matter of milliseconds when nothing has changed. */
export function generateCode(): void {
  generateProtocol();
  generateMachines();
  generateConsole();
}

if (import.meta.main) generateCode();
