import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import { KindlingError } from '../../../protocol/error.ts';
import { type Person, ROLES } from '../../../protocol/people.ts';
import { OWNER, type People } from '../../people/people.ts';
import { rightsOf } from '../../people/rights.ts';

export interface PeopleRouteParts {
  people: People;
  now: () => Date;
}

const DAY_MS = 24 * 3600 * 1000;
const LONGEST_DAYS = 366;
const DEFAULT_DAYS = 30;

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._@+-]{0,119}$/, 'small letters, digits, and . _ @ + - after the first');
const role = z.enum(ROLES);
const PersonSchema = z
  .object({ name: z.string(), role, createdAt: z.string(), isDisabled: z.boolean(), tokens: z.number() })
  .meta({ id: 'Person' });
const TokenSchema = z
  .object({ id: z.string(), person: z.string(), createdAt: z.string(), expiresAt: z.string() })
  .meta({ id: 'Token' });
const NewTokenSchema = TokenSchema.extend({
  token: z.string().describe('Shown once; only its hash is kept'),
});
const TokenRequestSchema = z.strictObject({
  expiresInSeconds: z
    .number()
    .int()
    .min(60)
    .max((LONGEST_DAYS * DAY_MS) / 1000)
    .default((DEFAULT_DAYS * DAY_MS) / 1000),
});
const tokens = z.object({ tokens: z.array(TokenSchema) });

const tag = 'people';

/** Who may do what at this site, and with which tokens. */
export function peopleRoutes({ people, now }: PeopleRouteParts): ApiRoute[] {
  const endOf = (seconds: number) => new Date(now().getTime() + seconds * 1000);
  return [
    apiRoute({
      method: 'GET',
      path: '/api/v1/me',
      access: 'person',
      tag,
      operationId: 'getMe',
      summary: 'Who the token in use belongs to, and what it allows',
      answer: z.object({
        name: z.string(),
        role,
        rights: z.array(z.string()),
        expires: z.string().nullable(),
      }),
      handle: ({ person }) => {
        const { name, role, expires } = known(person);
        return { name, role, rights: rightsOf(role), expires };
      },
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/me/tokens',
      access: 'person',
      tag,
      operationId: 'listMyTokens',
      summary: 'One’s own tokens that have not ended',
      answer: tokens,
      handle: async ({ person }) => ({ tokens: await people.tokens(known(person).name) }),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/me/tokens',
      access: 'person',
      tag,
      operationId: 'createMyToken',
      summary: 'Make another token for oneself; it ends no later than the one in use',
      body: TokenRequestSchema,
      status: 201,
      answer: NewTokenSchema,
      handle: ({ person, body }) => {
        const { name, role, expires } = known(person);
        const wanted = endOf(body.expiresInSeconds);
        // A stolen token must not be a way to a token that outlives it. Admins can make any token anyway.
        const isTooLong = role !== 'admin' && expires !== null && wanted.getTime() > Date.parse(expires);
        return people.createToken(refuseOwnerToken(name), isTooLong ? new Date(expires) : wanted);
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: '/api/v1/me/tokens/{id}',
      access: 'person',
      tag,
      operationId: 'revokeMyToken',
      summary: 'End one of one’s own tokens',
      status: 204,
      answer: z.void(),
      handle: ({ person, path }) => people.revokeToken(path['id'] ?? '', known(person).name),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/users',
      access: 'person',
      tag,
      operationId: 'listUsers',
      summary: 'Every named person; the owner of the state folder is not among them',
      answer: z.object({ users: z.array(PersonSchema) }),
      handle: async () => ({ users: await people.list() }),
    }),
    apiRoute({
      method: 'PUT',
      path: '/api/v1/users/{name}',
      access: 'person',
      tag,
      operationId: 'putUser',
      summary: 'Add a person, or give one another role',
      body: z.strictObject({ role }),
      answer: PersonSchema,
      handle: ({ path, body }) => people.save(checkName(path['name'] ?? ''), body.role),
    }),
    apiRoute({
      method: 'DELETE',
      path: '/api/v1/users/{name}',
      access: 'person',
      tag,
      operationId: 'removeUser',
      summary: 'Remove a person with all tokens',
      status: 204,
      answer: z.void(),
      handle: ({ path }) => people.remove(path['name'] ?? ''),
    }),
    ...(
      [
        ['disable', 'Let a person in no longer; the tokens are kept', true],
        ['enable', 'Let a person in again', false],
      ] as const
    ).map(([verb, summary, isDisabled]) =>
      apiRoute({
        method: 'POST',
        path: `/api/v1/users/{name}/${verb}`,
        access: 'person',
        tag,
        operationId: `${verb}User`,
        summary,
        answer: PersonSchema,
        handle: ({ path }) => people.setDisabled(path['name'] ?? '', isDisabled),
      }),
    ),
    apiRoute({
      method: 'POST',
      path: '/api/v1/users/{name}/tokens',
      access: 'person',
      tag,
      operationId: 'createToken',
      summary: 'Make a token for a person',
      body: TokenRequestSchema,
      status: 201,
      answer: NewTokenSchema,
      handle: ({ path, body }) =>
        people.createToken(refuseOwnerToken(path['name'] ?? ''), endOf(body.expiresInSeconds)),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/tokens',
      access: 'person',
      tag,
      operationId: 'listTokens',
      summary: 'Everybody’s tokens that have not ended',
      answer: tokens,
      handle: async () => ({ tokens: await people.tokens() }),
    }),
    apiRoute({
      method: 'DELETE',
      path: '/api/v1/tokens/{id}',
      access: 'person',
      tag,
      operationId: 'revokeToken',
      summary: 'End anybody’s token',
      status: 204,
      answer: z.void(),
      handle: ({ path }) => people.revokeToken(path['id'] ?? ''),
    }),
  ];
}

/** The router lets nobody else in; this tells the compiler. */
function known(person: Person | undefined): Person {
  if (!person) throw new KindlingError('KND_API_UNAUTHENTICATED', 'nobody is signed in');
  return person;
}

function checkName(text: string): string {
  const checked = name.safeParse(text);
  if (checked.success) return checked.data;
  throw new KindlingError('KND_PERSON_INVALID', `a person cannot be called "${text}"`, {
    hint: 'Small letters, digits, and . _ @ + - after the first; at most 120.',
  });
}

function refuseOwnerToken(name: string): string {
  if (name !== OWNER) return name;
  throw new KindlingError(
    'KND_PERSON_INVALID',
    'the owner of the state folder has one token, which is there',
    {
      hint: 'Add a person with the role admin and make a token for that one.',
    },
  );
}
