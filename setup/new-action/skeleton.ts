import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The names of an action: `hello-disk` in workflows and files, `helloDisk` in the code. */
export interface ActionNames {
  name: string;
  variable: string;
}

/** An action to begin with. docs/how-to/develop-an-action.md shows it: it uses what most actions need, and changes nothing. */
export function actionText(names: ActionNames): string {
  return skeleton('hello-disk.ts.txt', names);
}

export function testText(names: ActionNames): string {
  return skeleton('hello-disk.test.ts.txt', names);
}

function skeleton(file: string, { name, variable }: ActionNames): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
    .replaceAll('hello-disk', name)
    .replaceAll('helloDisk', variable);
}
