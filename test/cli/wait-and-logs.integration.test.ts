import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type LogsOptions, showLogs } from '../../cli/node/logs.ts';
import { type WaitOptions, waitForNodes } from '../../cli/node/wait.ts';
import { RunningStub } from '../orchestrator-stub/running-stub.ts';

let site: RunningStub;
let lines: string[];

beforeEach(async () => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation(() => {});
  site = await RunningStub.start();
  for (const name of ['till-1', 'till-2']) {
    await site.api('POST', '/api/v1/nodes', { json: { serial: `SER-${name}`, name, autoOnboard: true } });
  }
});
afterEach(async () => {
  vi.restoreAllMocks();
  await site[Symbol.asyncDispose]();
});

const connection = () => ({ server: site.stub.urls.http, state: '/nonexistent', output: 'table' as const });
const wait = (names: string[], options: Partial<WaitOptions> = {}) =>
  waitForNodes(names, { ...connection(), until: 'running', ...options });
const logs = (node: string | undefined, options: Partial<LogsOptions> = {}) =>
  showLogs(node, { ...connection(), lines: '200', ...options });

test('waiting ends when every node is there, those that were named and no others', async () => {
  const waiting = wait(['till-1'], { until: 'deauthorized' });
  await vi.waitFor(() => expect(lines).toContain('till-1: Registered'));
  await site.api('POST', '/api/v1/nodes/till-1/deauthorise');
  await waiting;
  expect(lines.at(-1)).toBe('1 of 1 nodes are deauthorized');
  expect(lines.join('\n')).not.toContain('till-2');
});

test('waiting goes on while the server is away, and misses nothing that happened meanwhile', async () => {
  const waiting = wait([], { all: true, until: 'deauthorized' });
  await vi.waitFor(() => expect(lines).toContain('till-2: Registered'));
  await site.api('POST', '/api/v1/nodes/till-1/deauthorise');
  await site.restart({}, async () => {});
  await site.api('POST', '/api/v1/nodes/till-2/deauthorise');
  await waiting;
  expect(lines.at(-1)).toBe('2 of 2 nodes are deauthorized');
});

test('a node that needs a hand ends the waiting, with its reason', async () => {
  await site.api('DELETE', '/api/v1/nodes/till-2');
  const refused = expect(wait([], { all: true })).rejects.toMatchObject({
    code: 'KND_NODE_NEEDS_HAND',
    message: '0 of 1 nodes are running; till-1: Onboarded, waiting for a profile',
  });
  await vi.waitFor(() => expect(lines).toContain('till-1: Registered'));
  await site.knock({ serialnum: 'SER-till-1' });
  await refused;
});

test.each([
  ['nothing is said', [], {}, 'say which nodes'],
  ['names and --all', ['till-1'], { all: true }, 'say which nodes'],
  ['a status there is not', ['till-1'], { until: 'happy' }, 'there is no status "happy"'],
  ['a node there is not', ['till-9'], {}, 'till-9'],
  ['a filter that fits none', [], { profile: 'none' }, 'there is no node to wait for'],
  ['no time left', ['till-1'], { timeout: '0.2' }, '0 of 1 nodes are running; till-1: '],
] as const)('waiting with %s fails and says why', async (_title, names, options, message) => {
  await expect(wait([...names], options)).rejects.toMatchObject({
    message: expect.stringContaining(message),
  });
});

test('logs of all nodes are files of a folder, whatever a node calls itself', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-logs-'));
  await site.api('PATCH', '/api/v1/nodes/till-2', { json: { name: 'a.b..c' } });
  await logs(undefined, { all: true, folder });
  const files = await readdir(folder);
  expect(files.map((name) => name.replace(/-host-.*$|-[0-9a-f-]{8,}.*$/, '')).toSorted()).toEqual([
    'a-b-c',
    'till-1',
  ]);
  expect(await readFile(join(folder, files[0] ?? ''), 'utf8')).toBe('');
  await rm(folder, { recursive: true });
});

test.each([
  ['no node', undefined, {}],
  ['all without a folder', undefined, { all: true }],
  ['a node and all', 'till-1', { all: true, folder: '/tmp' }],
] as const)('logs with %s are refused', async (_title, node, options) => {
  await expect(logs(node, options)).rejects.toMatchObject({ code: 'KND_USAGE' });
});
