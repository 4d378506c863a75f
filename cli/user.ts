import type { Command } from 'commander';
import { KindlingError } from '../protocol/error.ts';
import { type PersonView, ROLES, type Role } from '../protocol/people.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';
import { formatFields, formatTable } from './table.ts';

/** The answer of `GET /api/v1/me`. */
export interface Me {
  name: string;
  role: Role;
  rights: string[];
  expires: string | null;
}

/** `kindling user …`: people, and what each may do. */
export function defineUser(command: Command): void {
  withConnection(command.command('add <name>').description('add a person, or give one another role'))
    .requiredOption('--role <role>', ROLES.join(', '), checkRole)
    .action(add);
  withConnection(command.command('list').description('everybody with their roles')).action(list);
  withConnection(command.command('me').description('who I am, and what I may do')).action(showMe);
  withConnection(command.command('disable <name>').description('let a person in no longer')).action(
    (name: string, options: ConnectionOptions) => setDisabled(name, options, 'disable'),
  );
  withConnection(command.command('enable <name>').description('let a person in again')).action(
    (name: string, options: ConnectionOptions) => setDisabled(name, options, 'enable'),
  );
  withConnection(command.command('remove <name>').description('remove a person with all tokens')).action(
    remove,
  );
}

async function add(name: string, options: ConnectionOptions & { role: Role }): Promise<void> {
  const person = await new ServerConnection(options).call<PersonView>('PUT', pathOf(name), {
    role: options.role,
  });
  if (options.output === 'json') console.log(JSON.stringify(person, null, 2));
  else console.log(`${person.name} is ${person.role} from now on`);
}

async function list(options: ConnectionOptions): Promise<void> {
  const { users } = await new ServerConnection(options).call<{ users: PersonView[] }>('GET', '/api/v1/users');
  if (options.output === 'json') {
    console.log(JSON.stringify(users, null, 2));
    return;
  }
  console.log(
    formatTable(users, [
      ['NAME', ({ name }) => name],
      ['ROLE', ({ role }) => role],
      ['STATE', ({ isDisabled }) => (isDisabled ? 'disabled' : 'active')],
      ['TOKENS', ({ tokens }) => tokens],
      ['SINCE', ({ createdAt }) => createdAt],
    ]),
  );
}

async function showMe(options: ConnectionOptions): Promise<void> {
  const me = await new ServerConnection(options).call<Me>('GET', '/api/v1/me');
  if (options.output === 'json') {
    console.log(JSON.stringify(me, null, 2));
    return;
  }
  console.log(
    formatFields([
      ['name', me.name],
      ['role', me.role],
      ['token ends', me.expires ?? 'never'],
      ['rights', me.rights.join(', ')],
    ]),
  );
}

async function setDisabled(
  name: string,
  options: ConnectionOptions,
  verb: 'disable' | 'enable',
): Promise<void> {
  const person = await new ServerConnection(options).call<PersonView>('POST', `${pathOf(name)}/${verb}`);
  if (options.output === 'json') console.log(JSON.stringify(person, null, 2));
  else console.log(`${verb}d ${person.name}`);
}

async function remove(name: string, options: ConnectionOptions): Promise<void> {
  await new ServerConnection(options).call('DELETE', pathOf(name));
  if (options.output === 'table') console.log(`removed ${name}, whose tokens no longer work`);
}

function checkRole(value: string): string {
  if (ROLES.some((role) => role === value)) return value;
  throw new KindlingError('KND_USAGE', `--role is ${ROLES.join(', ')}, not ${value}`);
}

function pathOf(name: string): string {
  return `/api/v1/users/${encodeURIComponent(name)}`;
}
