import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SiteServerParts, siteRoutes } from '../../../orchestrator-stub/http/site-server.ts';
import { hasRight, rightOf } from '../../../orchestrator-stub/people/rights.ts';
import { ROLES } from '../../../protocol/people.ts';
import { RunningStub } from '../running-stub.ts';

// The routes are only looked at, so they need none of their parts.
const { api, raw } = siteRoutes({} as SiteServerParts);
const routes = [...api, ...raw].filter(({ access }) => access === 'person');

let running: RunningStub;
const tokens = new Map<string, string>();

beforeAll(async () => {
  running = await RunningStub.start({ auth: 'required' });
  for (const role of ROLES) {
    await running.api('PUT', `/api/v1/users/${role}-1`, { json: { role } });
    const made = await running.api('POST', `/api/v1/users/${role}-1/tokens`, { json: {} });
    tokens.set(role, made.body.token);
  }
});
afterAll(() => running[Symbol.asyncDispose]());

test('every route that asks for a person has a row in the table of rights', () => {
  const without = routes.filter((route) => rightOf(route) === undefined);
  expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

test.each(ROLES)(
  'the server lets a person with the role %s do what the table says, and nothing else',
  async (role) => {
    const wrong: string[] = [];
    for (const route of routes) {
      const right = rightOf(route);
      const { status } = await call(route, tokens.get(role) ?? '');
      const isAllowed = status !== 401 && status !== 403;
      if (isAllowed !== (right !== undefined && hasRight(role, right))) {
        wrong.push(`${route.method} ${route.path}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  },
);

test('nobody without a token gets anywhere', async () => {
  const statuses = new Set<number>();
  for (const route of routes) statuses.add((await call(route, null)).status);
  expect([...statuses]).toEqual([401]);
});

/** With names of things that do not exist and without a body, so that what is allowed changes nothing. */
async function call(
  { method, path }: { method: string; path: string },
  token: string | null,
): Promise<{ status: number }> {
  const url = running.stub.urls.http + path.replaceAll(/\{\w+\}/g, 'nothing-of-this-name');
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(url, { method, headers });
  await response.body?.cancel(); // the stream of events has no end; its head says enough
  return { status: response.status };
}
