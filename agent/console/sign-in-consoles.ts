import type { MachineFiles } from '../../system/machine-files.ts';
import type { Console } from '../onboarding/console.ts';
import { promptConsoles } from '../onboarding/console.ts';
import { openKeyboard } from '../onboarding/keyboard.ts';
import type { Consoles } from './consoles.ts';

/**
 * The consoles of a boot as places where a person can sign in. What they show goes through the boot's own writers, so that a
 * question and a log line do not end up in each other.
 */
export function openSignInConsoles(files: MachineFiles, consoles: Consoles, isDebug: boolean): Console[] {
  return promptConsoles(consoles.names)
    .filter((name) => !isDebug || name !== shellConsole(files))
    .flatMap((name) => {
      const keyboard = openKeyboard(files.path(`/dev/${name}`));
      if (!keyboard) return [];
      const write = (text: string) => consoles.write(name, text);
      return [
        {
          name,
          write,
          readLine: (options) => keyboard.readLine(options, write),
          close: keyboard.close,
        } satisfies Console,
      ];
    });
}

/** With kindling.debug init runs a shell on /dev/console, the last of the active ones; the keys there belong to the shell. */
function shellConsole(files: MachineFiles): string | undefined {
  return files.text('/sys/class/tty/console/active')?.trim().split(/\s+/).at(-1);
}
