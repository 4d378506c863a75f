import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ImportAnswer, ImportRow } from '../../../protocol/imports.ts';
import { NODE, RunningStub } from '../running-stub.ts';

let running: RunningStub;
beforeAll(async () => {
  running = await RunningStub.start({ auth: 'required' });
  await running.api('PUT', '/api/v1/profiles/edge?force=true', {
    json: { imageUrl: 'http://images.test/x.raw', imageFormat: 'raw', lvmSizeGb: 60 },
  });
});
afterAll(() => running[Symbol.asyncDispose]());
afterEach(async () => {
  for (const { id } of await nodes()) await running.api('DELETE', `/api/v1/nodes/${id}`);
});

const send = (body: string | Buffer, query = '', token?: string) =>
  running.api('POST', `/api/v1/imports${query}`, {
    body,
    headers: { 'content-type': 'text/csv' },
    ...(token === undefined ? {} : { token }),
  });

async function check(text: string): Promise<ImportAnswer> {
  const { status, body } = await send(text, '?file=tills.csv');
  expect(status).toBe(201);
  return body;
}

const look = async (id: string): Promise<ImportAnswer> =>
  (await running.api('GET', `/api/v1/imports/${id}`)).body;

async function finish(id: string): Promise<ImportAnswer> {
  return vi.waitUntil(
    async () => {
      const now = await look(id);
      return now.state === 'running' ? undefined : now;
    },
    { timeout: 60_000, interval: 50 },
  ) as Promise<ImportAnswer>;
}

async function importAll(text: string): Promise<ImportAnswer> {
  const { id } = await check(text);
  expect(await running.api('POST', `/api/v1/imports/${id}/start`)).toMatchObject({ status: 200 });
  return finish(id);
}

const nodes = async (): Promise<{ id: string; name: string; profile: string | null }[]> =>
  (await running.api('GET', '/api/v1/nodes?limit=500')).body.nodes;

const verdicts = ({ rows }: ImportAnswer) => rows.map(({ verdict }) => verdict);
const outcomes = ({ rows }: ImportAnswer) => rows.map(({ outcome }: ImportRow) => outcome);

const manyRows = (count: number) =>
  Array.from({ length: count }, (_, index) => `SER-${10_000 + index},till-${index}`).join('\n');

describe('a list that is sent', () => {
  it('gets a verdict per row, and changes nothing', async () => {
    await running.api('POST', '/api/v1/nodes', {
      json: { serial: 'OLD12345', name: 'till-1', profile: 'edge' },
    });
    const made = await check(
      'Serial,Name,OSProfile,LVMSize\nNEW12345,till-2,edge,60\nOLD12345,till-1,edge,\nOLD12345,,,\nA#1,,nope,\n',
    );
    expect(verdicts(made)).toEqual(['new', 'same', 'bad', 'bad']);
    expect(made).toMatchObject({ file: 'tills.csv', state: 'checked', total: 4, wanted: 2, done: 0 });
    expect(made.rows[3]?.faults.map(({ column }) => column)).toEqual([0, 2]);
    expect(await nodes()).toHaveLength(1);
  });

  it('may be UTF-16, as spreadsheets save it', async () => {
    const { body } = await send(Buffer.from('\uFEFFSerial\tName\nNEW12345\tKäse\n', 'utf16le'));
    expect(body.rows).toMatchObject([{ node: 'Käse', verdict: 'new' }]);
  });

  it.each([
    ['nothing', '', 400, 'KND_CSV_INVALID'],
    ['bytes that are no text', Buffer.from([0xc3, 0x28]), 400, 'KND_API_INVALID'],
    ['more than 4 MiB', Buffer.alloc(4 * 1024 * 1024 + 1, 'x'), 413, 'KND_API_TOO_LARGE'],
  ])('is refused where it is %s', async (_what, bytes, status, code) => {
    const before = (await running.api('GET', '/api/v1/imports')).body;
    expect(await send(bytes)).toMatchObject({ status, body: { code } });
    expect((await running.api('GET', '/api/v1/imports')).body).toEqual(before);
  });

  it('is text/csv and nothing else', async () => {
    expect(await running.api('POST', '/api/v1/imports', { json: {} })).toMatchObject({
      status: 400,
      body: { code: 'KND_API_INVALID' },
    });
  });

  it('is for people who may install', async () => {
    await running.api('PUT', '/api/v1/users/vera', { json: { role: 'viewer' } });
    const { token } = (await running.api('POST', '/api/v1/users/vera/tokens', { json: {} })).body;
    expect(await send('Serial\nNEW12345\n', '', token)).toMatchObject({ status: 403 });
    expect(await running.api('GET', '/api/v1/imports', { token })).toMatchObject({ status: 403 });
  });
});

describe('an import', () => {
  it('registers what is new, changes what differs, and leaves the rest alone', async () => {
    await importAll('Serial,Name,OSProfile\nAAA-10001,till-1,edge\nAAA-10002,till-2,edge\n');
    await running.api('PUT', '/api/v1/profiles/other?force=true', {
      json: { imageUrl: 'http://images.test/y.raw', imageFormat: 'raw' },
    });
    const again = await importAll(
      'Serial,Name,OSProfile\nAAA-10001,till-1,edge\nAAA-10002,till-2,other\nAAA-10003,till-3,\n',
    );
    expect(outcomes(again)).toEqual(['unchanged', 'changed', 'registered']);
    expect(again.rows[1]?.changes).toEqual([{ field: 'profile', from: 'edge', to: 'other' }]);
    expect((await nodes()).find(({ name }) => name === 'till-2')?.profile).toBe('other');
  });

  it('stops at bad rows, or leaves them out and gives them back to be corrected', async () => {
    const { id } = await check('Serial;Name;Error\nGOOD-0001;a;\nB#D;"b; c";earlier\n');
    expect(await running.api('POST', `/api/v1/imports/${id}/start`)).toMatchObject({
      status: 400,
      body: { code: 'KND_CSV_INVALID' },
    });
    await running.api('POST', `/api/v1/imports/${id}/start?skipBad=true`);
    expect(outcomes(await finish(id))).toEqual(['registered', null]);
    const file = await running.api('GET', `/api/v1/imports/${id}/errors.csv`);
    expect(file.headers['content-disposition']).toBe('attachment; filename="tills.errors.csv"');
    expect(file.text).toBe(
      'Serial;Name;Error\r\nB#D;"b; c";"Invalid Serial number ""B#D"": up to 64 letters, digits, spaces, dots, dashes, slashes and underscores"\r\n',
    );
    expect(verdicts(await check(file.text.replace('B#D', 'BAD-0001')))).toEqual(['new']);
  });

  it('is started once', async () => {
    const { id } = await importAll('Serial\nNEW12345\n');
    expect(await running.api('POST', `/api/v1/imports/${id}/start`)).toMatchObject({
      status: 409,
      body: { code: 'KND_IMPORT_STATE' },
    });
    expect(await running.api('GET', '/api/v1/imports/nope')).toMatchObject({
      status: 404,
      body: { code: 'KND_IMPORT_UNKNOWN' },
    });
  });

  it('judges each row again: what was taken meanwhile fails, and only that', async () => {
    const { id } = await check('Serial,Name\nNEW-00001,a\nNEW-00002,b\n');
    await running.api('POST', '/api/v1/nodes', { json: { serial: 'OTHER-001', name: 'a' } });
    await running.api('POST', `/api/v1/imports/${id}/start`);
    const done = await finish(id);
    expect(outcomes(done)).toEqual(['failed', 'registered']);
    expect(done.rows[0]?.detail).toContain('The name is that of another host');
  });

  it('names the person who started it in the line of every node', async () => {
    await importAll('Serial,Name\nNEW-00001,audited-1\n');
    const { lines } = (await running.api('GET', '/api/v1/audit?node=audited-1')).body;
    expect(lines.at(-1)).toMatchObject({ action: 'importRow', who: 'operator', result: 'done' });
  });

  it('goes on after the server was stopped in the middle of it', async () => {
    const { id } = await check(`Serial,Name\n${manyRows(400)}\n`);
    await running.api('POST', `/api/v1/imports/${id}/start`);
    await running.restart({ auth: 'required' });
    const done = await finish(id);
    expect(done).toMatchObject({ state: 'done', done: 400, outcomes: { registered: 400, failed: 0 } });
    expect(await nodes()).toHaveLength(400);
  });
});

describe('undo', () => {
  const undo = (id: string) => running.api('POST', `/api/v1/imports/${id}/undo`);

  it('makes everything as it was', async () => {
    await running.api('POST', '/api/v1/nodes', {
      json: { serial: 'OLD-00001', name: 'till-1', metadata: { rack: '1' } },
    });
    const before = (await running.api('GET', '/api/v1/nodes/till-1')).body;
    const { id } = await importAll(
      'Serial,Name,OSProfile,Metadata\nOLD-00001,till-9,edge,rack=2\nNEW-00001,till-2,,\n',
    );
    expect((await nodes()).map(({ name }) => name).sort()).toEqual(['till-2', 'till-9']);
    expect(await undo(id)).toMatchObject({ status: 200, body: { state: 'undone', outcomes: { undone: 2 } } });
    expect(await nodes()).toHaveLength(1);
    const { name, profile, metadata } = (await running.api('GET', '/api/v1/nodes/till-1')).body;
    expect({ name, profile, metadata }).toEqual({
      name: before.name,
      profile: before.profile,
      metadata: before.metadata,
    });
    expect(await undo(id)).toMatchObject({ status: 409 });
  });

  it('leaves a machine that had only shown itself as the stranger it was', async () => {
    await running.api('POST', '/api/v1/discovery', {
      json: {
        identity: { serial: 'SHY-00001', macs: ['52:54:00:00:00:99'], nodeId: 'n', evidence: [] },
      },
      token: null,
    });
    expect(await nodes()).toMatchObject([{ group: 'strangers' }]);
    const { id } = await importAll('Serial,Name\nSHY-00001,till-1\n');
    expect(await undo(id)).toMatchObject({ status: 200 });
    expect(await nodes()).toMatchObject([{ group: 'strangers', serial: 'SHY-00001' }]);
  });

  it('is refused as soon as one of its machines has booted', async () => {
    const { id } = await importAll(
      `UUID,Name\n${NODE.uuid},till-1\n7a8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5,till-2\n`,
    );
    await running.knock();
    expect(await undo(id)).toMatchObject({
      status: 409,
      body: { code: 'KND_IMPORT_STATE', title: expect.stringContaining('till-1 has booted') },
    });
    expect(await nodes()).toHaveLength(2);
  });
});
