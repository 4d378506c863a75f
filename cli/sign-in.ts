import type { Command } from 'commander';
import { waitFor } from '../system/wait.ts';
import { secondsOf } from './duration.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';

interface DeviceCode {
  deviceCode: string;
  userCode: string;
  expiresInSeconds: number;
  intervalSeconds: number;
}

interface Grant {
  token: string;
  person: string;
  expiresAt: string;
}

const PATH = '/api/v1/device-codes';

/** `kindling sign-in`: a token for this machine, given by somebody who is signed in elsewhere. */
export function defineSignIn(command: Command): void {
  withConnection(command).action(signIn);
}

/** `kindling approve CODE`: signs in the program that shows the code. */
export function defineApprove(command: Command): void {
  withConnection(command.argument('<code>'))
    .option('--for <name>', 'whose token it gets (admins; default: the caller’s)')
    .option('--expires <time>', 'how long it works: 30d, 12h, 90m', secondsOf, secondsOf('12h'))
    .action(approve);
}

async function signIn(options: ConnectionOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const code = await connection.call<DeviceCode>('POST', PATH);
  // The token alone on standard output: KINDLING_TOKEN=$(kindling sign-in).
  console.error(`type this where you are signed in: kindling approve ${code.userCode}`);
  const grant = await waitFor(
    async () => {
      const { deviceCode } = code;
      const answer = await connection.call<Partial<Grant>>('POST', `${PATH}/token`, { deviceCode });
      return answer.token === undefined ? undefined : answer;
    },
    {
      name: 'somebody to approve the code',
      timeoutMs: code.expiresInSeconds * 1000,
      intervalMs: code.intervalSeconds * 1000,
    },
  );
  if (options.output === 'json') console.log(JSON.stringify(grant, null, 2));
  else {
    console.error(`signed in as ${grant.person}, until ${grant.expiresAt}`);
    console.log(grant.token);
  }
}

async function approve(
  code: string,
  options: ConnectionOptions & { for?: string; expires: number },
): Promise<void> {
  const body = { expiresInSeconds: options.expires, ...(options.for ? { for: options.for } : {}) };
  const path = `${PATH}/${encodeURIComponent(code)}/approve`;
  const answer = await new ServerConnection(options).call<Omit<Grant, 'token'> & { address: string }>(
    'POST',
    path,
    body,
  );
  if (options.output === 'json') console.log(JSON.stringify(answer, null, 2));
  else console.log(`the program at ${answer.address} is ${answer.person} until ${answer.expiresAt}`);
}
