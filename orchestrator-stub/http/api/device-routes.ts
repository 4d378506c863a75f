import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { Person } from '../../../protocol/people.ts';
import { type DeviceCodes, EXPIRES_SECONDS, INTERVAL_SECONDS } from '../../people/device-codes.ts';
import { OWNER, type People } from '../../people/people.ts';
import { hasRight } from '../../people/rights.ts';
import type { Store } from '../../store/store.ts';

export interface DeviceRouteParts {
  store: Store;
  people: People;
  devices: DeviceCodes;
  now: () => Date;
}

const DEFAULT_SECONDS = 12 * 3600;
const LONGEST_SECONDS = 366 * 24 * 3600;

const tag = 'people';

/** Signs in a program on another machine, without a password or token being typed there. */
export function deviceRoutes({ store, people, devices, now }: DeviceRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'POST',
      path: '/api/v1/device-codes',
      access: 'anyone',
      tag,
      operationId: 'startDeviceSignIn',
      summary: 'A program asks to be signed in: it shows the short code, and polls with the long one',
      status: 201,
      answer: z.object({
        deviceCode: z.string(),
        userCode: z.string(),
        expiresInSeconds: z.number(),
        intervalSeconds: z.number(),
      }),
      handle: ({ client }) => {
        const { deviceCode, userCode } = devices.start(client);
        return {
          deviceCode,
          userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}`,
          expiresInSeconds: EXPIRES_SECONDS,
          intervalSeconds: INTERVAL_SECONDS,
        };
      },
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/device-codes/token',
      access: 'anyone',
      tag,
      operationId: 'pollDeviceSignIn',
      summary: 'The token, once somebody has typed the code; without one while nobody has',
      body: z.strictObject({ deviceCode: z.string().max(100) }),
      answer: z.object({
        token: z.string().optional(),
        person: z.string().optional(),
        expiresAt: z.string().optional(),
      }),
      handle: ({ body }) => devices.poll(body.deviceCode) ?? {},
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/device-codes/{id}',
      access: 'person',
      tag,
      operationId: 'getDeviceSignIn',
      summary: 'From where a program asked that shows this code, and when',
      answer: z.object({ address: z.string(), askedAt: z.string() }),
      handle: ({ path }) => {
        const { address, askedAt } = devices.find(path['id'] ?? '');
        return { address, askedAt: askedAt.toISOString() };
      },
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/device-codes/{id}/approve',
      access: 'person',
      tag,
      operationId: 'approveDeviceSignIn',
      summary: 'Give the program that shows this code a token of one’s own; admins: of somebody else',
      body: z.strictObject({
        for: z.string().optional(),
        expiresInSeconds: z.number().int().min(60).max(LONGEST_SECONDS).default(DEFAULT_SECONDS),
      }),
      answer: z.object({ person: z.string(), expiresAt: z.string(), address: z.string() }),
      handle: ({ person, path, body }) =>
        store.transaction(async () => {
          const waiting = devices.find(path['id'] ?? '');
          const name = holderOf(person, body.for);
          const made = await people.createToken(name, endOf(person, now(), body.expiresInSeconds));
          const grant = { token: made.token, person: name, expiresAt: made.expiresAt };
          store.afterCommit(() => devices.grant(waiting, grant));
          return { person: name, expiresAt: made.expiresAt, address: waiting.address };
        }),
    }),
  ];
}

/** Whose token the program gets. */
function holderOf(person: Person | undefined, other: string | undefined): string {
  if (!person) throw new KindlingError('KND_API_UNAUTHENTICATED', 'nobody is signed in');
  const name = other ?? person.name;
  if (name === OWNER)
    throw new KindlingError(
      'KND_PERSON_INVALID',
      'the owner of the state folder has one token, which is there',
      {
        hint: 'Say whose token it is: kindling approve CODE --for NAME.',
      },
    );
  if (name !== person.name && !hasRight(person.role, 'people:change'))
    throw new KindlingError('KND_API_FORBIDDEN', 'only an admin makes tokens for others');
  return name;
}

/** A stolen token must not be a way to a token that outlives it. Admins can make any token anyway. */
function endOf(person: Person | undefined, now: Date, seconds: number): Date {
  const wanted = new Date(now.getTime() + seconds * 1000);
  const own = person?.role === 'admin' || !person?.expires ? undefined : new Date(person.expires);
  return own && own < wanted ? own : wanted;
}
