import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { storedDefinitions, storedInstance } from '../orchestrator-stub/seal/test-seal.ts';
import { AttackedSite, HONEST } from './attacked-site.ts';

let site: AttackedSite;
beforeEach(async () => {
  site = await AttackedSite.start();
});
afterEach(() => site[Symbol.asyncDispose]());

interface Action {
  name: string;
  environment: string[];
}

const FDE = { osType: 'MUTABLE', security: 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION' };
const actions = (): Action[] => {
  return storedDefinitions(site.running.folder)[0]?.actions ?? [];
};
const value = (action: Action, name: string) =>
  action.environment.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
const escrowKey = () =>
  actions()
    .map((action) => value(action, 'KINDLING_ESCROW_URL'))
    .find(Boolean)
    ?.split('/')
    .at(-1) ?? '';
const firstBootKey = () => /\/api\/v1\/first-boot\/([0-9a-f]+)/.exec(JSON.stringify(actions()))?.[1] ?? '';
const escrow = (key: string, recoveryKey: string, keyId = '0123456789abcdef') =>
  site.running.api('POST', `/api/v1/recovery-keys/${key}`, {
    json: { keyId, recoveryKey, disk: {} },
    token: null,
  });
const kept = async (id: string) =>
  (await site.running.api('GET', `/api/v1/nodes/${id}/recovery-keys`)).body.keys.map(
    (each: { recoveryKey: string }) => each.recoveryKey,
  );

it.each([
  ['MUTABLE', 'ubuntu'],
  ['IMMUTABLE', 'microvisor'],
])('a %s system’s files with a secret in them are for root alone', async (osType) => {
  await site.profile({ osType });
  await site.install(HONEST);
  const withSecret = actions().filter(({ environment }) =>
    environment.some((each) => /first-boot\/[0-9a-f]{32}|client-credentials/.test(each)),
  );
  expect(withSecret.length).toBeGreaterThan(0);
  for (const action of withSecret) {
    expect(value(action, 'MODE'), action.name).toBe('0600');
    const files = (parse(value(action, 'CONTENTS')) as { write_files: Record<string, string>[] }).write_files;
    for (const { path = '', permissions, content = '' } of files) {
      if (/client_secret|first-boot\//.test(`${path} ${content}`))
        expect(permissions, path).toMatch(/^0[67]00$/);
    }
  }
});

it('the installed system’s key opens neither the escrow nor the list of neighbors', async () => {
  await site.profile(FDE);
  const { id } = await site.install(HONEST);
  expect(firstBootKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(firstBootKey()).not.toBe(escrowKey());
  expect((await escrow(firstBootKey(), 'a key of the attacker')).status).toBe(404);
  await site.running.api('PATCH', '/api/v1/site', { json: { neighbours: true } });
  const announced = await site.running.api('POST', `/api/v1/neighbours/${firstBootKey()}`, {
    json: { root: 'a'.repeat(64), address: '127.0.0.1', port: 9 },
    token: null,
  });
  expect(announced.status).toBe(404);
  expect(
    (await site.running.api('POST', `/api/v1/first-boot/${escrowKey()}`, { json: {}, token: null })).status,
  ).toBe(404);
  expect(await kept(id)).toEqual([]);
});

it('recovery keys are only added, and only while a trusted node’s disk is being encrypted', async () => {
  await site.profile(FDE);
  const { id } = await site.install(HONEST);
  const key = escrowKey();
  expect((await escrow(key, 'the right key')).status).toBe(200);
  await escrow(key, 'another key');
  expect(await kept(id)).toEqual(['the right key']);
  await site.running.api('POST', `/api/v1/nodes/${id}/deauthorise`);
  expect((await escrow(key, 'a late key', '1123456789abcdef')).status).toBe(404);
  expect(await kept(id)).toEqual(['the right key']);
});

it('where nothing is encrypted no recovery key is taken', async () => {
  await site.profile();
  const { id } = await site.install(HONEST);
  const key = storedInstance(site.running.folder)?.escrowKey ?? '';
  expect((await escrow(key, 'a key for nothing')).status).toBe(404);
  expect(await kept(id)).toEqual([]);
});
