import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { machinesOf, simulate } from '../../simulator/simulate.ts';
import { RunningStub } from '../orchestrator-stub/running-stub.ts';

let running: RunningStub;
let folder: string;
beforeAll(async () => {
  running = await RunningStub.start({ auth: 'required' });
  folder = await mkdtemp(join(tmpdir(), 'kindling-simulated-'));
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

it('machines that do not exist are onboarded and provisioned; one with a defect needs a hand', async () => {
  const fleet = { count: 3, failing: 1 };
  await running.api('PUT', '/api/v1/profiles/simulated?force=true', {
    json: { imageUrl: 'http://images.invalid/x.raw.zst' },
  });
  for (const { name, uuid, serial, mac } of machinesOf(fleet))
    await running.api('POST', '/api/v1/nodes', {
      json: { name, uuid, serial, mac, autoOnboard: true, profile: 'simulated' },
    });
  const said: string[] = [];
  const end = new AbortController();
  const simulated = simulate({
    ...fleet,
    server: running.stub.urls.http,
    ca: running.stub.ca,
    caFile: join(running.folder, 'site-ca.crt'),
    folder,
    speed: 500,
    signal: end.signal,
    say: (line) => said.push(line),
  });
  const rows = async () =>
    (
      (await running.api('GET', '/api/v1/nodes?sort=name')).body.nodes as {
        name: string;
        status: string;
        code: string | null;
      }[]
    ).map(({ name, status }) => `${name} ${status}`);
  await expect
    .poll(rows, { timeout: 50_000 })
    .toEqual(['sim-001 running', 'sim-002 running', 'sim-003 failed']);
  expect(said).toEqual([]);
  end.abort();
  await simulated;
}, 60_000);
