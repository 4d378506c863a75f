import type { Command } from 'commander';
import type { TokenView } from '../protocol/people.ts';
import { secondsOf } from './duration.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';
import { formatTable } from './table.ts';
import type { Me } from './user.ts';

/** `kindling token …`: personal tokens. They go into KINDLING_TOKEN, or into "Authorization: Bearer …". */
export function defineToken(command: Command): void {
  withConnection(command.command('create').description('make a token; it is shown once'))
    .option('--for <name>', 'whose token it is (default: the caller’s)')
    .option('--expires <time>', 'how long it works: 30d, 12h, 90m', secondsOf, secondsOf('30d'))
    .action(create);
  withConnection(
    command.command('list').description('tokens that work, without their secrets; admins see everybody’s'),
  ).action(list);
  withConnection(command.command('revoke <id>').description('end a token')).action(revoke);
}

async function create(options: ConnectionOptions & { for?: string; expires: number }): Promise<void> {
  const path = options.for ? `/api/v1/users/${encodeURIComponent(options.for)}/tokens` : '/api/v1/me/tokens';
  const made = await new ServerConnection(options).call<TokenView & { token: string }>('POST', path, {
    expiresInSeconds: options.expires,
  });
  if (options.output === 'json') {
    console.log(JSON.stringify(made, null, 2));
    return;
  }
  // The token alone on standard output: KINDLING_TOKEN=$(kindling token create).
  console.error(`token ${made.id} of ${made.person}, until ${made.expiresAt}; it is not shown again:`);
  console.log(made.token);
}

async function list(options: ConnectionOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const { rights } = await connection.call<Me>('GET', '/api/v1/me');
  const path = rights.includes('people:read') ? '/api/v1/tokens' : '/api/v1/me/tokens';
  const { tokens } = await connection.call<{ tokens: TokenView[] }>('GET', path);
  if (options.output === 'json') {
    console.log(JSON.stringify(tokens, null, 2));
    return;
  }
  console.log(
    formatTable(tokens, [
      ['ID', ({ id }) => id],
      ['NAME', ({ person }) => person],
      ['SINCE', ({ createdAt }) => createdAt],
      ['UNTIL', ({ expiresAt }) => expiresAt],
    ]),
  );
}

async function revoke(id: string, options: ConnectionOptions): Promise<void> {
  const connection = new ServerConnection(options);
  const { rights } = await connection.call<Me>('GET', '/api/v1/me');
  const path = rights.includes('people:change') ? '/api/v1/tokens/' : '/api/v1/me/tokens/';
  await connection.call('DELETE', path + encodeURIComponent(id));
  if (options.output === 'table') console.log(`revoked token ${id}`);
}
