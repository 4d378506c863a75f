import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuditLine } from '../../../protocol/audit.ts';
import { FailingDisk } from '../failing-disk.ts';
import { NODE, RunningStub } from '../running-stub.ts';
import { storedInstance } from '../seal/test-seal.ts';

const PROFILE = { osType: 'IMMUTABLE', imageUrl: 'http://127.0.0.1/x.raw' };
let running: RunningStub;

beforeEach(async () => {
  running = await RunningStub.start({ auth: 'required' });
});
afterEach(() => running[Symbol.asyncDispose]());

async function lines(query = ''): Promise<AuditLine[]> {
  return (await running.api('GET', `/api/v1/audit${query}`)).body.lines;
}
const verify = async (query = '') => (await running.api('GET', `/api/v1/audit/verify${query}`)).body;
async function person(name: string, role: string): Promise<string> {
  await running.api('PUT', `/api/v1/users/${name}`, { json: { role } });
  return (await running.api('POST', `/api/v1/users/${name}/tokens`, { json: {} })).body.token;
}
const register = (name: string, serial: string, token?: string) =>
  running.api('POST', '/api/v1/nodes', { json: { serial, name }, ...(token ? { token } : {}) });

describe('every change leaves a line', () => {
  test('with who, from where, what, on which node, before and after, and the result', async () => {
    const token = await person('ann', 'operator');
    const { id } = (await register('till-7', 'S7', token)).body;
    await running.api('PATCH', '/api/v1/nodes/till-7', { json: { name: 'till-8' }, token });
    await running.api('DELETE', `/api/v1/nodes/${id}`, { token });
    const ann = { who: 'ann', role: 'operator', from: '127.0.0.1', node: id, result: 'done' };
    expect(await lines('?who=ann')).toMatchObject([
      { ...ann, action: 'registerNode', nodeName: 'till-7', after: { name: 'till-7', serial: 'S7' } },
      { ...ann, action: 'correctNode', before: { name: 'till-7' }, after: { name: 'till-8' } },
      { ...ann, action: 'deleteNode', nodeName: 'till-8', before: { name: 'till-8' }, after: {} },
    ]);
    expect(await lines(`?node=till-8&action=deleteNode`)).toHaveLength(1);
    expect(await lines('?since=2999-01-01T00:00:00Z')).toEqual([]);
  });

  test('also what was refused, by the role or by the server', async () => {
    const token = await person('vic', 'viewer');
    await register('till-7', 'S7', token);
    await running.api('DELETE', '/api/v1/nodes/nowhere');
    expect((await lines()).slice(-2)).toMatchObject([
      { who: 'vic', action: 'registerNode', result: 'KND_API_FORBIDDEN' },
      { who: 'operator', action: 'deleteNode', target: 'nowhere', result: 'KND_NODE_UNKNOWN' },
    ]);
  });

  test('and reading leaves none', async () => {
    for (const path of ['/api/v1/nodes', '/api/v1/site', '/api/v1/templates', '/api/v1/audit']) {
      expect((await running.api('GET', path)).status).toBe(200);
    }
    expect(await lines()).toEqual([]);
  });

  test('but no secret is in it', async () => {
    await running.api('PATCH', '/api/v1/site', { json: { httpProxy: 'http://u:hunter2@proxy:3128' } });
    await running.api('PUT', '/api/v1/profiles/p', {
      json: {
        ...PROFILE,
        imageUrl: 'http://u:hunter2@127.0.0.1/x.raw?sig=hunter2',
        cloudInit: 'password: hunter2',
        variables: { PASSWORD: 'hunter2' },
        customConfigs: [{ name: 'a', content: 'hunter2' }],
      },
    });
    const token = await person('ann', 'admin');
    const { text } = await running.api('GET', '/api/v1/audit');
    expect(text).toContain('http://127.0.0.1/x.raw?…');
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain(token.slice(4));
  });
});

test('who reads a recovery key is written down, and who leaves one', async () => {
  await running.api('PUT', '/api/v1/profiles/p', {
    json: { ...PROFILE, security: 'SECURE_BOOT_AND_FULL_DISK_ENCRYPTION' },
  });
  const node = { serial: NODE.serialnum, name: 'till-7', autoOnboard: true, profile: 'p' };
  const { id } = (await running.api('POST', '/api/v1/nodes', { json: node })).body;
  await running.knock();
  const workflow = `workflow-${NODE.uuid}-g1`;
  await expect.poll(async () => (await running.api('GET', `/api/v1/workflows/${workflow}`)).status).toBe(200);
  const key = { keyId: '0011223344556677', recoveryKey: 'cbdefghi-jklnrtuv', disk: {} };
  const address = `/api/v1/recovery-keys/${storedInstance(running.folder)?.escrowKey}`;
  expect((await running.api('POST', address, { json: key, token: null })).status).toBe(200);
  expect((await running.api('GET', '/api/v1/nodes/till-7/recovery-keys')).body.keys).toHaveLength(1);

  const text = JSON.stringify((await lines()).slice(-2));
  expect(JSON.parse(text)).toMatchObject([
    { who: id, role: 'node', action: 'escrowRecoveryKey', target: key.keyId, node: id },
    { who: 'operator', role: 'admin', action: 'getRecoveryKeys', nodeName: 'till-7', result: 'done' },
  ]);
  expect(text).not.toContain(key.recoveryKey);
});

describe('a change without its line does not happen', () => {
  test('where the line cannot be written', async () => {
    await register('till-7', 'S7');
    using database = new DatabaseSync(join(running.folder, 'kindling.sqlite'));
    database.exec(
      "CREATE TRIGGER no_more BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no more lines'); END",
    );
    expect((await running.api('DELETE', '/api/v1/nodes/till-7')).status).toBe(500);
    expect((await running.api('GET', '/api/v1/nodes/till-7/recovery-keys')).status).toBe(500);
    database.exec('DROP TRIGGER no_more');
    expect((await running.api('GET', '/api/v1/nodes/till-7')).status).toBe(200);
  });

  test('where the disk is full', async () => {
    await using disk = await FailingDisk.make();
    await using full = await RunningStub.start({ stateFolder: disk.folder });
    await full.api('POST', '/api/v1/nodes', { json: { serial: 'S7', name: 'till-7' } });
    disk.fill();
    expect(await full.api('GET', '/api/v1/nodes/till-7/recovery-keys')).toMatchObject({
      status: 503,
      body: { code: 'KND_STATE_FULL' },
    });
    expect((await full.api('DELETE', '/api/v1/nodes/till-7')).status).toBe(503);
    disk.makeRoom();
    expect((await full.api('DELETE', '/api/v1/nodes/till-7')).status).toBe(204);
    expect((await full.api('GET', '/api/v1/audit')).body.lines).toMatchObject([
      { line: 1, action: 'registerNode' },
      { line: 2, action: 'deleteNode', result: 'done' },
    ]);
  });
});

describe('a line that was changed is found', () => {
  beforeEach(async () => {
    for (const number of [1, 2, 3, 4]) await register(`till-${number}`, `S${number}`);
  });
  /** What somebody does who has the file, behind the orchestrator. */
  const tamper = (sql: string) =>
    running.restart({}, async () => {
      using database = new DatabaseSync(join(running.folder, 'kindling.sqlite'));
      expect(() => database.exec(sql), 'the database itself refuses').toThrow('audit lines are never');
      database.exec(`DROP TRIGGER audit_not_updated; DROP TRIGGER audit_not_deleted; ${sql}`);
    });

  test('none is found where none was, also after a restart', async () => {
    await running.restart();
    await register('till-5', 'S5');
    expect(await verify()).toMatchObject({ lines: 5, broken: null });
  });

  test('where its text is another', async () => {
    await tamper("UPDATE audit SET document = replace(document, 'till-2', 'till-9') WHERE line = 2");
    expect(await verify()).toMatchObject({ lines: 1, broken: { line: 2 } });
  });

  test('where it was given the right hash for its new text', async () => {
    const { head } = await verify();
    expect(head).toMatch(/^[0-9a-f]{64}$/);
    await tamper(`UPDATE audit SET hash = '${head}' WHERE line = 3`);
    expect(await verify()).toMatchObject({ broken: { line: 3 } });
  });

  test('where it is gone', async () => {
    await tamper('DELETE FROM audit WHERE line = 3');
    expect(await verify()).toMatchObject({ lines: 2, broken: { line: 3, reason: 'the line is missing' } });
  });

  test('where the last ones are gone, if somebody wrote one of them down', async () => {
    const { lines: count, head } = await verify();
    expect(await verify(`?expect=${count}:${head}`)).toMatchObject({ broken: null });
    await tamper('DELETE FROM audit WHERE line > 2');
    expect(await verify()).toMatchObject({ lines: 2, broken: null });
    expect(await verify(`?expect=${count}:${head}`)).toMatchObject({ broken: { line: 3 } });
  });
});
