import type { Console } from './console.ts';

export interface SignIn {
  username: string;
  password: string;
}

const SHORTEST = 3;

/** Asks on every console at once; the first console with both answers counts. Waits as long as it takes. */
export async function askToSignIn(consoles: readonly Console[], signal: AbortSignal): Promise<SignIn> {
  const answered = new AbortController();
  const stop = AbortSignal.any([signal, answered.signal]);
  try {
    return await Promise.any(consoles.map((console) => askOn(console, stop)));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    answered.abort(new Error('answered on another console'));
  }
}

async function askOn(console: Console, signal: AbortSignal): Promise<SignIn> {
  console.write('\nProvide Username and password for the IDP\n');
  try {
    const username = await ask(console, 'Username: ', true, signal);
    const password = await ask(console, 'Password: ', false, signal);
    console.write('Username, Password received: Processing\n');
    return { username, password };
  } catch (error) {
    console.write('\n'); // the question stands no longer: somebody answered elsewhere, or the server let the node in
    throw error;
  }
}

async function ask(
  console: Console,
  question: string,
  hasEcho: boolean,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    console.write(question);
    // Spaces, line ends and semicolons are dropped, as the original does: they come from pasting.
    const answer = (await console.readLine({ hasEcho, signal })).replace(/[\s;]/g, '');
    if (answer.length >= SHORTEST) return answer;
    console.write(`At least ${SHORTEST} characters, please.\n`);
  }
}
