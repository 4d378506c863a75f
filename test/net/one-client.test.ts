import { expect, it } from 'vitest';
import { type Repository, repositoryOf, thisRepository } from '../repository.ts';

/** Servers are welcome everywhere; only a client has reasons to be in one place. */
const CLIENT =
  /^import (?!type\b)(?![^;]*\bcreateServer\b)[^;]*'(node:https?|undici)';|(?<![\w.#])(?<!async )fetch\(/m;
const ALLOWED = [
  'net/http.ts',
  'agent/connection/diagnose.ts', // climbs to a server rung by rung, on a socket that it opened itself
  'console/api/call.ts', // runs in a browser, which has one client of its own
];

function clients({ files, read }: Repository): string[] {
  return files
    .filter((file) => file.endsWith('.ts') && !/^(test|bench|setup|lab)\//.test(file))
    .filter((file) => CLIENT.test(read(file)));
}

it('everything but the image stream speaks HTTP through one client', () => {
  expect(clients(thisRepository()).toSorted()).toEqual(ALLOWED.toSorted());
});

it.each([
  ["import { request } from 'node:https';", true],
  ["import http from 'node:http';", true],
  ["import {\n  get,\n} from 'node:http';", true],
  ['const response = await fetch(url);', true],
  ["import { createServer, type Server } from 'node:http';", false],
  ["import type { IncomingMessage } from 'node:http';", false],
  ['await this.#fetch(choice); cache.fetch(1);', false],
])('the test of this finds out about %j: %s', (code, isClient) => {
  expect(clients(repositoryOf({ 'cli/x.ts': code }))).toEqual(isClient ? ['cli/x.ts'] : []);
});
