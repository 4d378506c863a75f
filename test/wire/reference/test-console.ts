import { PassThrough } from 'node:stream';
import type { Console } from '../../../agent/onboarding/console.ts';
import { readTypedLine } from '../../../agent/onboarding/typed-line.ts';
import { waitFor } from '../../../system/wait.ts';

/** A console whose keyboard is in the test's hands. */
export class TestConsole implements Console {
  readonly name: string;
  readonly keyboard = new PassThrough();
  screen = '';
  isClosed = false;

  constructor(name: string) {
    this.name = name;
  }

  write(text: string): void {
    this.screen += text;
  }

  readLine(options: { hasEcho: boolean; signal: AbortSignal }): Promise<string> {
    return readTypedLine(this.keyboard, (text) => this.write(text), options);
  }

  close(): void {
    this.isClosed = true;
  }
}

export const shown = (console: TestConsole, text: string, times: number) =>
  waitFor(() => (console.screen.split(text).length > times ? true : undefined), {
    name: `“${text}” on ${console.name}, which shows: ${console.screen}`,
    timeoutMs: 30_000,
    intervalMs: 5,
  });

/** Answers the nth pair of questions. */
export async function signIn(
  console: TestConsole,
  username: string,
  password: string,
  nth = 1,
): Promise<void> {
  await shown(console, 'Username: ', nth);
  console.keyboard.write(`${username}\r`);
  await shown(console, 'Password: ', nth);
  console.keyboard.write(`${password}\r`);
}
