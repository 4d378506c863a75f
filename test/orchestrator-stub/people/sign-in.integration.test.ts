import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RunningStub } from '../running-stub.ts';

const MAIN = join(import.meta.dirname, '../../../cli/main.ts');

let running: RunningStub;
let elsewhere: string;
beforeEach(async () => {
  elsewhere = mkdtempSync(join(tmpdir(), 'kindling-sign-in-'));
  running = await RunningStub.start({ port: 0, plainPort: false });
  writeFileSync(join(elsewhere, 'ca.pem'), running.stub.ca);
});
afterEach(async () => {
  await running[Symbol.asyncDispose]();
  rmSync(elsewhere, { recursive: true });
});

/** The program on a machine that has the site's CA and nothing else. */
function kindling(args: string[], environment: NodeJS.ProcessEnv = {}) {
  return spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', MAIN, ...args, '--state', elsewhere],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        KINDLING_SERVER: running.stub.urls.http,
        KINDLING_CA: join(elsewhere, 'ca.pem'),
        ...environment,
      },
    },
  );
}

async function tokenOf(name: string, role: string, expiresInSeconds: number) {
  await running.api('PUT', `/api/v1/users/${name}`, { json: { role } });
  return (await running.api('POST', `/api/v1/users/${name}/tokens`, { json: { expiresInSeconds } })).body;
}

test('a program that shows a code gets a token of the person who types it, which outlives hers by nothing', async () => {
  const ann = await tokenOf('ann', 'technician', 3600);
  const program = kindling(['sign-in']);
  const printed = text(program.stdout);
  const [shown] = (await once(program.stderr, 'data')) as [Buffer];
  const code = /kindling approve ([A-Z]{4}-[A-Z]{4})/.exec(shown.toString())?.[1] ?? '';
  program.stderr.resume();

  const approval = kindling(['approve', code], { KINDLING_TOKEN: ann.token });
  expect(await text(approval.stdout)).toMatch(/^the program at \S+ is ann until /);
  await once(program, 'exit');
  const token = (await printed).trim();
  expect((await running.api('GET', '/api/v1/me', { token })).body).toMatchObject({
    name: 'ann',
    role: 'technician',
    expires: ann.expiresAt,
  });
  const { lines } = (await running.api('GET', '/api/v1/audit?action=approveDeviceSignIn')).body;
  expect(lines).toMatchObject([{ who: 'ann', target: code, result: 'done' }]);
});

test('only an admin approves for somebody else, and nobody without a token', async () => {
  const ann = await tokenOf('ann', 'operator', 3600);
  const start = async () =>
    (await running.api('POST', '/api/v1/device-codes', { token: null })).body as {
      userCode: string;
      deviceCode: string;
    };
  const approve = (code: string, json: object, token: string | null) =>
    running.api('POST', `/api/v1/device-codes/${code}/approve`, { json, token });
  const poll = async (deviceCode: string) =>
    (await running.api('POST', '/api/v1/device-codes/token', { json: { deviceCode }, token: null })).body;
  await tokenOf('bob', 'admin', 3600);

  const { userCode, deviceCode } = await start();
  expect((await approve(userCode, {}, null)).status).toBe(401);
  expect((await approve(userCode, { for: 'bob' }, ann.token)).status).toBe(403);
  expect((await approve(userCode, {}, running.stub.token)).body).toMatchObject({
    code: 'KND_PERSON_INVALID',
  });
  expect((await approve('BBBB-BBBB', {}, ann.token)).status).toBe(404);
  expect(await poll(deviceCode)).toEqual({});
  expect((await approve(userCode, { for: 'ann' }, running.stub.token)).status).toBe(200);
  expect(await poll(deviceCode)).toMatchObject({ person: 'ann', token: expect.stringMatching(/^knd_/) });
});
