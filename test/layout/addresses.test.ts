import { describe, expect, it } from 'vitest';
import { type SiteServerParts, siteRoutes } from '../../orchestrator-stub/http/site-server.ts';
import { thisRepository } from '../repository.ts';

/** Folders whose programs print or call addresses of the orchestrator. */
const PROGRAMS = /^(agent|cli|demo|orchestrator-stub)\//;
/** `${url}/nodes/${id}`: an address below the orchestrator's own. */
const ADDRESS = /\$\{[^{}]*\b(?:url|urlFromHost|ownUrl|origin|server)\}(\/[^\s`'"\\]*)/g;
/** What somebody calls with its path alone: `'/api/v1/nodes'`. */
const API_PATH = /['"`](\/api\/v1\/[^\s'"`\\]*)/g;
/** Tokens name the realm by this address, as Keycloak's do; Keycloak's own answer there is asked for by nobody. */
const NAMES = ['/realms/master'];
const VARIABLE = '*';

// The routes are only looked at, so they need none of their parts.
const { api, raw } = siteRoutes({} as SiteServerParts);
const routes = [...raw, ...api].map(({ path }) => path.split('/').slice(1));

function addressesIn(text: string): string[] {
  return [ADDRESS, API_PATH].flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''));
}

function exists(address: string): boolean {
  const segments = address
    .replace(/\/\$\{/g, '/\0')
    // a variable that is glued to a segment is the query
    .replace(/\$\{.*$/, '')
    .replaceAll(/\0[^/]*/g, VARIABLE)
    .replace(/[?#].*$/, '')
    .replace(/[.,;]$/, '')
    .split('/')
    .slice(1);
  return NAMES.includes(address) || routes.some((route) => answers(route, segments));
}

function answers(route: readonly string[], segments: readonly string[]): boolean {
  const rest = route.indexOf('{*}');
  if (rest === -1 && route.length !== segments.length) return false;
  return (rest === -1 ? route : route.slice(0, rest)).every((segment, index) => {
    const asked = segments[index];
    return asked !== undefined && (segment.startsWith('{') || asked === VARIABLE || segment === asked);
  });
}

it('every address of the orchestrator that a program prints or calls exists', () => {
  const repository = thisRepository();
  const dead = repository.files
    .filter((file) => PROGRAMS.test(file) && file.endsWith('.ts'))
    .flatMap((file) =>
      addressesIn(repository.read(file))
        .filter((address) => !exists(address))
        .map((address) => `${file}: ${address}`),
    );
  expect(dead).toEqual([]);
});

describe('the judge of addresses', () => {
  it('finds an address that no route answers', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text, as the judge reads it
    const [address = ''] = addressesIn('print(`  its page: ${url}/machines/${journey.id}`)');
    expect(address).toContain('/machines/');
    expect(exists(address)).toBe(false);
  });

  it('knows the address of a node, a file and the health check', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text, as the judge reads it
    expect(['/api/v1/nodes/${id}', '/nodes/${id}', '/tink-stack/boot.ipxe', '/healthz'].every(exists)).toBe(
      true,
    );
  });
});
