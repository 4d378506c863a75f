import { generateKeyPairSync } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startStub } from '../../orchestrator-stub/serve.ts';
import { run } from '../../system/run.ts';
import { NODE, RunningStub } from './running-stub.ts';
import { storedInstance } from './seal/test-seal.ts';

const MAIN = join(import.meta.dirname, '../../cli/main.ts');
const PASSWORD = 'a-password-in-cloud-init';
const RECOVERY_KEY = 'cbdefghi-jklnrtuv';

let running: RunningStub;
let elsewhere: string;
beforeEach(async () => {
  elsewhere = mkdtempSync(join(tmpdir(), 'kindling-thief-'));
  running = await RunningStub.start();
});
afterEach(async () => {
  await running[Symbol.asyncDispose]();
  rmSync(elsewhere, { recursive: true });
});

const databaseFiles = () => readdirSync(running.folder).filter((name) => name.startsWith('kindling.sqlite'));
const recoveryKeys = async () => (await running.api('GET', '/api/v1/nodes/till-7/recovery-keys')).body.keys;

/** A node that has every kind of secret; returns them all. */
async function fillWithSecrets(): Promise<string[]> {
  const profile = {
    osType: 'IMMUTABLE',
    imageUrl: 'http://127.0.0.1/x.raw',
    security: 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION',
    cloudInit: `#cloud-config\npassword: ${PASSWORD}\n`,
  };
  expect((await running.api('PUT', '/api/v1/profiles/p', { json: profile })).status).toBe(200);
  const node = { serial: NODE.serialnum, name: 'till-7', autoOnboard: true, profile: 'p' };
  await running.api('POST', '/api/v1/nodes', { json: node });
  const { clientSecret } = await running.knock();
  await expect.poll(() => storedInstance(running.folder)).toBeDefined();
  const { firstBootKey = '', escrowKey = '', neighborsKey = '' } = storedInstance(running.folder) ?? {};
  const json = { keyId: '0011223344556677', recoveryKey: RECOVERY_KEY, disk: {} };
  const escrow = `/api/v1/recovery-keys/${escrowKey}`;
  // The workflow follows the instance.
  await expect.poll(async () => (await running.api('POST', escrow, { json, token: null })).status).toBe(200);
  const keys = [firstBootKey, escrowKey, neighborsKey];
  return [
    clientSecret,
    PASSWORD,
    Buffer.from(PASSWORD).toString('base64').slice(0, 24),
    RECOVERY_KEY,
    ...keys,
  ];
}

test('the files of the database, while it runs and after, have no secret; without the key they give nothing', async () => {
  const secrets = await fillWithSecrets();
  for (const name of databaseFiles()) {
    const bytes = readFileSync(join(running.folder, name), 'latin1');
    for (const secret of secrets) expect(bytes.includes(secret), `${secret} in ${name}`).toBe(false);
    cpSync(join(running.folder, name), join(elsewhere, name));
  }
  expect(databaseFiles()).toContain('kindling.sqlite-wal');

  // A thief who starts an orchestrator on the copy is told what is missing, and the copy stays as it is.
  const thief = { stateFolder: elsewhere, host: '127.0.0.1', port: 0 };
  await expect(startStub(thief)).rejects.toMatchObject({ code: 'KND_SEAL_KEY' });
  expect(existsSync(join(elsewhere, 'state-key'))).toBe(false);
  // With the key it is the owner.
  cpSync(join(running.folder, 'state-key'), join(elsewhere, 'state-key'));
  await (await startStub(thief)).close();
});

test('an admin changes the key of a running orchestrator; the audit has it, and the next start knows only the new one', async () => {
  await fillWithSecrets();
  const before = readFileSync(join(running.folder, 'state-key'), 'utf8');
  const { http } = running.stub.urls;
  writeFileSync(join(elsewhere, 'ca.pem'), running.stub.ca);
  const { stdout } = await run(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', MAIN, 'state', 'rotate-key', '--server', http],
    { env: { ...process.env, KINDLING_TOKEN: running.stub.token, KINDLING_CA: join(elsewhere, 'ca.pem') } },
  );
  expect(stdout).toMatch(/^\d+ secrets are sealed with the new key [0-9a-f]{12}\n$/);
  const { lines } = (await running.api('GET', '/api/v1/audit?action=rotateStateKey')).body;
  expect(lines).toMatchObject([{ action: 'rotateStateKey', result: 'done' }]);
  await running.restart();
  const after = readFileSync(join(running.folder, 'state-key'), 'utf8');
  expect(after).toMatch(/^[0-9a-f]{64}\n$/);
  expect(after).not.toBe(before);
  expect(await recoveryKeys()).toMatchObject([{ recoveryKey: RECOVERY_KEY }]);
});

test('with an offline key the orchestrator cannot read recovery keys; openssl opens them elsewhere', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const set = (escrowPublicKey: string) =>
    running.api('PATCH', '/api/v1/site', { json: { escrowPublicKey } });
  expect((await set('a key')).status).toBe(400);
  expect((await set(privateKey)).status, 'the private half has no business here').toBe(400);
  expect((await set(publicKey)).status).toBe(200);
  await fillWithSecrets();
  const [{ recoveryKey, encryptedKey }] = await recoveryKeys();
  expect(recoveryKey).toBeNull();
  writeFileSync(join(elsewhere, 'offline.pem'), privateKey, { mode: 0o600 });
  writeFileSync(join(elsewhere, 'key'), Buffer.from(encryptedKey, 'base64'));
  const opened = await run('openssl', [
    ...['pkeyutl', '-decrypt', '-inkey', join(elsewhere, 'offline.pem'), '-in', join(elsewhere, 'key')],
    ...['-pkeyopt', 'rsa_padding_mode:oaep', '-pkeyopt', 'rsa_oaep_md:sha256'],
  ]);
  expect(opened.stdout).toBe(RECOVERY_KEY);
});
