import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { certify, signCertificate } from '../../actions/erase/certificate.ts';
import { exportRecords, printShift, type RecordOptions } from '../../cli/record/record.ts';
import { type BatchFile, unpackBatch } from '../../cli/record/unpack-batch.ts';
import { verifyFile } from '../../cli/record/verify.ts';
import type { SignedRecord } from '../../protocol/shipping-record.ts';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';
import { firstBootPath, TOTAL_ACTIONS, work } from '../orchestrator-stub/work-through.ts';

const IMAGE = 'a'.repeat(64);

let site: RunningStub;
let keys: string[];
let printed: string[];

beforeAll(async () => {
  site = await RunningStub.start();
  await site.api('PUT', '/api/v1/profiles/edge?force=true', {
    json: { imageUrl: 'http://images.test/ubuntu.raw.gz', osType: 'MUTABLE', skipKernelUpgrade: true },
  });
  await site.api('POST', '/api/v1/nodes', {
    json: {
      ...{ uuid: NODE.uuid, serial: NODE.serialnum, name: 'till-1', autoOnboard: true, profile: 'edge' },
      metadata: { place: 'sw2/14' },
    },
  });
  const identity = { uuid: NODE.uuid, serial: NODE.serialnum, macs: [NODE.macId], nodeId: 'x' };
  const disks = [{ kind: 'disk', path: '/dev/sda', serial: 'D1', sizeBytes: 1000 }];
  const told = { identity, disks, firmware: { kind: 'uefi', secureBoot: 'on' } };
  const { nodeId } = (await site.api('POST', '/api/v1/discovery', { json: told, token: null })).body;
  const actions = await work(site, TOTAL_ACTIONS);
  await sendLog(nodeId);
  expect((await site.api('POST', firstBootPath(actions), { json: {}, token: null })).status).toBe(200);
  await site.api('POST', '/api/v1/nodes', { json: { serial: 'SER-2', name: 'till-2' } });
  keys = (await site.api('GET', '/api/v1/signing-keys')).body.keys;
});
afterAll(() => site[Symbol.asyncDispose]());

beforeEach(() => {
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** What the actions of the node logged: a certificate of erasure, and the image. */
async function sendLog(node: string): Promise<void> {
  const certificate = signCertificate(
    certify({
      disk: { path: '/dev/sda', sizeBytes: 1000, serial: 'D1' },
      method: 'zeroes',
      startedAt: '2026-11-18T00:00:00.000Z',
      finishedAt: '2026-11-18T00:00:01.000Z',
      samples: [{ offset: 0, sha256: 'a', found: 'zeros' }],
      isBlank: true,
    }),
    generateKeyPairSync('ed25519').privateKey,
  );
  const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
  const record = (sequence: number, key: string, value: unknown) => ({
    timeUnixNano: `${Date.UTC(2026, 10, 18, 3, 0, sequence)}000000`,
    severityNumber: 9,
    body: { stringValue: 'as logged' },
    attributes: [
      { key: 'kindling.sequence', value: { intValue: String(sequence) } },
      attribute(key, JSON.stringify(value)),
    ],
  });
  const logRecords = [
    record(1, 'certificate', certificate),
    record(2, 'writtenImage', { sha256: IMAGE, bytes: 5 }),
  ];
  const attributes = [attribute('kindling.node', node), attribute('kindling.stream', 'boot-1')];
  const json = { resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords }] }] };
  expect((await site.api('POST', '/v1/logs', { json })).status).toBe(200);
}

const connection = () => ({ server: site.stub.urls.http, state: site.folder, output: 'table' as const });
const fileOf = (name: string) => join(site.folder, name);

async function record(nodes: string[], options: Partial<RecordOptions> = {}): Promise<string> {
  const file = fileOf('exported');
  await exportRecords(nodes, { ...connection(), format: 'json', file, ...options });
  return file;
}

test('the record says what the machine is, what is on it, and who did it', async () => {
  const { record: made } = JSON.parse(await readFile(await record(['till-1']), 'utf8')) as SignedRecord;
  expect(made).toMatchObject({
    version: 1,
    site: site.stub.projectId,
    node: { name: 'till-1', serial: NODE.serialnum, macs: [NODE.macId], place: 'sw2/14' },
    hardware: {
      disks: [{ serial: 'D1', erasure: { certificate: { method: 'zeroes' }, algorithm: 'Ed25519' } }],
      firmware: { kind: 'uefi', secureBoot: 'on' },
    },
    otherErasures: [],
    system: { profile: 'edge', generation: 1, written: { sha256: IMAGE, bytes: 5 } },
    outcome: { verdict: 'done', reason: null },
    people: [{ who: 'operator', role: 'admin', station: '127.0.0.1', action: 'registerNode' }],
  });
  expect(made.stages).toHaveLength(TOTAL_ACTIONS + 1);
  expect(made.stages.at(-1)).toMatchObject({ name: 'first-boot', state: 'SUCCESS' });
  expect(made.log.lines).toBeGreaterThanOrEqual(2);
});

describe('verify', () => {
  test('believes what the site signed, one record or several', async () => {
    await verifyFile(await record(['till-1']), keys);
    expect(printed).toEqual([
      expect.stringMatching(/^genuine {2}till-1 \(ABC12345\): .*, edge, generation 1; as of /),
    ]);
    await verifyFile(await record([], { all: true }), keys);
    expect(printed.slice(1)).toEqual([
      expect.stringMatching(/^genuine {2}till-1 /),
      expect.stringMatching(/^genuine {2}till-2 .*no profile/),
    ]);
  });

  test('refuses a changed record and says what was changed', async () => {
    const file = await record(['till-1']);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"serial": "ABC12345"', '"serial": "ABC12346"'));
    await expect(verifyFile(file, keys)).rejects.toMatchObject({
      code: 'KND_RECORD_INVALID',
      message: expect.stringContaining(
        'record.node.serial is "ABC12346", signed was "ABC12345"',
      ) as unknown as string,
    });
  });

  test('wants to know whose signature it must be, and refuses that of another key', async () => {
    const file = await record(['till-1']);
    await expect(verifyFile(file, [])).rejects.toMatchObject({ code: 'KND_USAGE' });
    await expect(verifyFile(file, ['nonsense'])).rejects.toMatchObject({ code: 'KND_USAGE' });
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '';
    await expect(verifyFile(file, [other])).rejects.toMatchObject({
      message: expect.stringContaining('another key has signed it') as unknown as string,
    });
    await writeFile(file, '{}');
    await expect(verifyFile(file, keys)).rejects.toMatchObject({ code: 'KND_RECORD_INVALID' });
  });
});

describe('a batch', () => {
  /** The batch with its files changed. */
  async function changed(change: (files: BatchFile[]) => BatchFile[]): Promise<string> {
    const file = await record([], { all: true, format: 'batch' });
    const archive = pack();
    for (const { path, bytes } of change(await unpackBatch(await readFile(file))))
      archive.entry({ name: path }, bytes);
    archive.finalize();
    await writeFile(file, gzipSync(await buffer(archive)));
    return file;
  }
  const refusal = (message: string) => ({
    code: 'KND_RECORD_INVALID',
    message: expect.stringContaining(message) as unknown as string,
  });

  test('holds a record and a log per node, a table and labels, and is believed', async () => {
    const file = await record([], { all: true, format: 'batch' });
    await verifyFile(file, keys);
    expect(printed).toHaveLength(2);
    const files = await unpackBatch(await readFile(file));
    expect(files.map(({ path }) => path.replace(/host-[0-9a-f]+/, 'ID'))).toEqual([
      ...['batch.json', 'nodes/ID/record.json', 'nodes/ID/log.jsonl', 'nodes/ID/record.json'],
      ...['nodes/ID/log.jsonl', 'records.csv', 'labels.html'],
    ]);
  });

  test('with one changed byte is refused by the name of the file', async () => {
    const flip = (bytes: Buffer) => Buffer.from(bytes.toString().replace('as logged', 'as lodged'));
    const file = await changed((files) =>
      files.map((one) => (one.path.endsWith('log.jsonl') ? { ...one, bytes: flip(one.bytes) } : one)),
    );
    await expect(verifyFile(file, keys)).rejects.toMatchObject(refusal('/log.jsonl was changed'));
  });

  test('with a file more or less is refused', async () => {
    const more = await changed((files) => [...files, { path: 'constructor', bytes: Buffer.from('x') }]);
    await expect(verifyFile(more, keys)).rejects.toMatchObject(refusal('constructor was added'));
    const less = await changed((files) => files.filter(({ path }) => path !== 'records.csv'));
    await expect(verifyFile(less, keys)).rejects.toMatchObject(refusal('records.csv is missing'));
    const headless = await changed((files) => files.slice(1));
    await expect(verifyFile(headless, keys)).rejects.toMatchObject(refusal('batch.json: it is missing'));
  });

  test('that was cut off is refused', async () => {
    const file = await record([], { all: true, format: 'batch' });
    await writeFile(file, (await readFile(file)).subarray(0, 200));
    await expect(verifyFile(file, keys)).rejects.toMatchObject(refusal('cannot be unpacked'));
  });
});

test.each([
  ['csv' as const, /^Serial,UUID,MAC,Name,.*\r\nABC12345,/],
  ['html' as const, /<h1>C12345<\/h1><h2>till-1<\/h2>/],
  ['zpl' as const, /\^FDtill-1\^FS/],
])('the table and the labels come as files: %s', async (format, content) => {
  expect(await readFile(await record(['till-1'], { format }), 'utf8')).toMatch(content);
});

test('which nodes are meant has to be said', async () => {
  await expect(record([])).rejects.toMatchObject({ code: 'KND_USAGE' });
  await expect(record(['nobody'])).rejects.toMatchObject({ code: 'KND_NODE_UNKNOWN' });
  await expect(record(['nobody'], { format: 'csv' })).rejects.toMatchObject({ code: 'KND_NODE_UNKNOWN' });
});

test('the shift has one machine done, at the first try', async () => {
  await printShift({ ...connection(), since: '8h' });
  expect(printed.join('\n')).toMatch(
    /Done +1\nFailed +0\nFirst pass +1 of 1 \(100\.0 %\)\nPer hour +0\.1\nSlowest stage +\S+, \d+ s/,
  );
});

test('the label in the API has the address of the page as the caller reaches it', async () => {
  const { body } = await site.api('GET', '/api/v1/nodes/till-1/label');
  expect(body).toMatchObject({ short: 'C12345', name: 'till-1' });
  expect(new URL(body.url).pathname).toMatch(/^\/nodes\/host-/);
});
