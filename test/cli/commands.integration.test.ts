import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { execa, type Subprocess } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBrokenRung } from '../../agent/connection/diagnose.ts';

const MAIN = new URL('../../cli/main.ts', import.meta.url).pathname;
const UUID = '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5';
let folder: string;
let server: Subprocess;

async function kindling(...args: string[]) {
  const result = await execa(process.execPath, [MAIN, ...args, '--state', folder], { reject: false });
  return { code: result.exitCode, out: String(result.stdout), err: String(result.stderr) };
}

/** With JSON output. */
async function asJson(...args: string[]) {
  return JSON.parse((await kindling(...args, '--output', 'json')).out);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-cli-'));
  server = execa(process.execPath, [
    MAIN,
    'serve',
    '--state',
    folder,
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--log',
    'silent',
  ]);
  const ready = Promise.withResolvers<void>();
  server.stdout?.on('data', (chunk: Buffer) => chunk.toString().includes('state,') && ready.resolve());
  server.catch(ready.reject);
  await ready.promise;
});

afterAll(async () => {
  server.kill('SIGTERM');
  expect((await server.catch((error: unknown) => error)) as { exitCode?: number }).toMatchObject({
    exitCode: 0,
  });
  await rm(folder, { recursive: true, force: true });
});

describe('the commands, against a server that was started by one', () => {
  test('a second orchestrator is kept off the same state folder', async () => {
    const { code, err } = await kindling('serve', '--host', '127.0.0.1', '--port', '0');
    expect(code).toBe(3);
    expect(err).toMatch(/KND_STUB_STATE: another orchestrator runs with the state folder/);
  });

  test.each([
    [
      'a folder of artifacts that is not there',
      ['--artifacts', '/nonexistent'],
      'KND_FILE_ACCESS: /nonexistent',
    ],
    [
      'a network device that is not there',
      ['--pxe', 'nosuch0', '--plain'],
      'KND_PXE_NO_INTERFACE: there is no network interface "nosuch0"',
    ],
  ])('serve says what is wrong before it starts anything: %s', async (_, options, message) => {
    const { out, err } = await kindling('serve', '--host', '127.0.0.1', '--port', '0', ...options);
    expect(err).toContain(message);
    expect(out).not.toContain('serves');
  });

  test('an empty site says what to do next', async () => {
    const { code, out } = await kindling('node', 'list');
    expect(code).toBe(0);
    expect(out).toContain('kindling node register');
  });

  test('a machine that refuses the certificate is in the list, with the reason', async () => {
    const url = new URL((await readFile(join(folder, 'server-url'), 'utf8')).trim());
    const strangersTrust = { trust: createSecureContext({ ca: [] }), proxies: {} };
    const door = { host: '127.0.0.1', port: Number(url.port), tls: 'verified' } as const;
    expect(await findBrokenRung(strangersTrust, door)).toMatchObject({ code: 'KND_CONNECT_TLS_UNTRUSTED' });
    expect((await kindling('node', 'list')).out).toMatch(
      /^127\.0\.0\.1 refuses this server’s certificate \(\w+\): give it the site’s CA/m,
    );
  });

  test('site: what cannot be set is refused, what is set is shown', async () => {
    expect((await kindling('site', 'set', 'firstBootMinutes=soon')).code).not.toBe(0);
    expect((await kindling('site', 'set', 'color=red')).code).not.toBe(0);
    expect(await asJson('site', 'set', 'firstBootMinutes=45')).toMatchObject({ firstBootMinutes: 45 });
    expect((await kindling('site', 'show')).out).toMatch(/^firstBootMinutes +45$/m);
  });

  test('profile: add, default, list, show, delete', async () => {
    expect(
      await kindling('profile', 'add', 'edge', '--image', 'https://images.test/os.img', '--default'),
    ).toMatchObject({ code: 0, out: 'saved profile edge, the default from now on' });
    const file = join(folder, 'profile.yaml');
    await writeFile(file, 'osType: IMMUTABLE\nimageUrl: files/edge.raw.gz\nsecurity: NONE\n');
    await kindling('profile', 'add', 'micro', '--file', file);
    expect((await kindling('profile', 'list')).out).toMatch(/^edge \(default\) +MUTABLE/m);
    expect(await asJson('profile', 'show', 'micro')).toMatchObject({ name: 'micro', osType: 'IMMUTABLE' });
    expect((await kindling('profile', 'default', '--manual')).out).toBe('default profile: edge; manual');
    expect((await kindling('profile', 'delete', 'micro')).code).toBe(0);
    expect(await kindling('profile', 'show', 'micro')).toMatchObject({
      code: 1,
      err: expect.stringContaining('KND_PROFILE_UNKNOWN'),
    });
  });

  test('profile add looks for an image among the orchestrator’s own files too', async () => {
    const url = (await readFile(join(folder, 'server-url'), 'utf8')).trim();
    const image = `${url}/tink-stack/os.raw.zst`;
    expect(await kindling('profile', 'add', 'own', '--image', image)).toMatchObject({
      code: 2,
      err: expect.stringContaining('there is no image at'),
    });
    await mkdir(join(folder, 'tink-stack'), { recursive: true });
    await writeFile(join(folder, 'tink-stack/os.raw.zst'), 'image');
    expect(await kindling('profile', 'add', 'own', '--image', image)).toMatchObject({ code: 0, err: '' });
    await kindling('profile', 'delete', 'own');
  });

  test('node: register, show, correct, onboard, deauthorize, delete', async () => {
    const node = await asJson(
      'node',
      'register',
      '--uuid',
      UUID.toUpperCase(),
      '--name',
      'till-7',
      '--profile',
      'edge',
    );
    expect(node).toMatchObject({ name: 'till-7', uuid: UUID });
    expect((await kindling('node', 'list')).out).toMatch(/^host-\w+ +till-7/m);
    expect((await kindling('node', 'correct', 'till-7', '--serial', 'ABC12345')).code).toBe(0);
    expect(await asJson('node', 'correct', 'till-7', '--no-enroll')).toMatchObject({ mayEnroll: false });
    expect((await kindling('node', 'show', 'ABC12345')).out).toMatch(/^serial +ABC12345$/m);
    expect((await kindling('node', 'onboard', 'till-7')).out).toContain('may onboard');
    expect((await kindling('node', 'deauthorize', 'till-7')).out).toContain('Deauthorized');
    expect(await kindling('node', 'onboard', 'till-7')).toMatchObject({
      code: 1,
      err: expect.stringContaining('KND_NODE_STATE'),
    });
    expect((await kindling('node', 'delete', UUID)).code).toBe(0);
    expect(await kindling('node', 'show', 'till-7')).toMatchObject({
      code: 1,
      err: expect.stringContaining('KND_NODE_UNKNOWN'),
    });
  });

  test('node import: the example is a file without faults', async () => {
    const file = join(folder, 'example.csv');
    await writeFile(file, (await kindling('node', 'import', '--example')).out.replace(',edge,', ',,'));
    const { code, out } = await kindling('node', 'import', file, '--dry-run');
    expect([code, out.match(/would be registered/g)]).toEqual([0, Array(3).fill('would be registered')]);
  });

  test('node import: all or nothing, then again without harm', async () => {
    const file = join(folder, 'nodes.csv');
    const header = 'Serial,UUID,OSProfile,Site,Secure,RemoteUser,Metadata,Error - do not fill\n';
    await writeFile(file, `${header}CSV10001,,edge\nCSV#1,,nope\n`);
    const refused = await kindling('node', 'import', file);
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining('line 3: Invalid Serial number'),
    });
    expect(await asJson('node', 'list')).toEqual([]);
    await writeFile(file, `${header}CSV10001,,edge,shop,,,rack=1\nCSV10002,,edge\n`);
    expect((await kindling('node', 'import', file, '--dry-run')).out).toContain('would be registered');
    expect(await asJson('node', 'list')).toEqual([]);
    expect((await kindling('node', 'import', file)).code).toBe(0);
    expect(await asJson('node', 'import', file)).toMatchObject([
      { result: 'already registered' },
      { result: 'already registered' },
    ]);
    expect(await asJson('node', 'show', 'CSV10001')).toMatchObject({ site: 'shop', metadata: { rack: '1' } });
    await writeFile(file, `${header}CSV10001,,edge,hall,,,rack=1\nCSV#1\n`);
    const partly = await kindling('node', 'import', file, '--skip-bad');
    expect(partly).toMatchObject({ code: 1, out: expect.stringMatching(/changed +site: shop → hall/) });
    expect(await readFile(join(folder, 'nodes.errors.csv'), 'utf8')).toMatch(/^Serial,.*,Error\r\nCSV#1,/);
    const id = /--undo (\S+)/.exec(partly.out)?.[1] ?? '';
    expect((await kindling('node', 'import', '--undo', id)).out).toContain('1 rows undone');
    expect(await asJson('node', 'show', 'CSV10001')).toMatchObject({ site: 'shop' });
  });

  test('workflow start takes a Hardware object from a file, and lists and mappings as values', async () => {
    const template = join(folder, 'disks.yaml');
    await writeFile(
      template,
      'version: "0.1"\nname: disks\ntasks:\n  - name: t\n    worker: "{{ .device_1 }}"\n    actions:\n      - name: "{{ index .Hardware.Disks 0 }} {{ index .more 1 }}"\n        image: example.org/a:1\n',
    );
    const hardware = join(folder, 'hardware.yaml');
    await writeFile(hardware, 'kind: Template\n---\nkind: Hardware\nspec: {disks: [{device: /dev/sdq}]}\n');
    await kindling('workflow', 'template', 'disks', '--file', template);
    await kindling('node', 'register', '--mac', '52:54:00:12:34:58', '--name', 'w2');
    const start = ['workflow', 'start', 'w2', 'disks', '--set', 'more=[a, b]', '--paused', '--hardware'];
    expect((await kindling(...start, hardware)).out).toMatch(/^\/dev\/sdq b +PENDING/m);
    expect(await kindling(...start, template)).toMatchObject({
      code: 2,
      err: expect.stringContaining('has 0 objects of the kind Hardware'),
    });
  });

  test('workflow: templates, start, list, show, pause, resume, cancel, retry', async () => {
    const file = join(folder, 'hello.yaml');
    await writeFile(
      file,
      'version: "0.1"\ntasks:\n  - name: t\n    worker: "{{ .device_1 }}"\n    actions:\n      - {name: greet, image: example.org/greet:1, command: ["{{ .who }}"]}\n',
    );
    await kindling('workflow', 'template', 'hello', '--file', file);
    expect((await kindling('workflow', 'templates')).out).toMatch(/^hello +own$/m);
    expect((await kindling('workflow', 'template', 'ubuntu')).out).toContain('global_timeout: 9800');
    await kindling('node', 'register', '--mac', '52:54:00:12:34:56', '--name', 'w1');
    const missing = await kindling('workflow', 'start', 'w1', 'hello');
    expect(missing).toMatchObject({
      code: 2,
      err: expect.stringContaining('map has no entry for key "who"'),
    });
    const { id } = await asJson('workflow', 'start', 'w1', 'hello', '--set', 'who=world', '--paused');
    expect((await kindling('workflow', 'resume', id)).out).toMatch(/^state +PENDING$/m);
    expect((await kindling('workflow', 'list', '--node', 'w1')).out).toMatch(
      new RegExp(`^${id} .* PENDING +1/1 +greet$`, 'm'),
    );
    expect((await kindling('workflow', 'pause', id)).out).toMatch(/^state +PENDING, paused$/m);
    expect((await kindling('workflow', 'resume', id)).code).toBe(0);
    expect((await kindling('workflow', 'cancel', id)).out).toMatch(/^state +CANCELLED$/m);
    expect(await kindling('workflow', 'approve', id, 'ab'.repeat(32))).toMatchObject({
      code: 1,
      err: expect.stringContaining('no plan waits for it'),
    });
    expect((await kindling('workflow', 'retry', id)).out).toContain('PENDING (attempt 2)');
    expect((await kindling('workflow', 'show', 'nope')).code).toBe(1);
  });

  test('node watch ends when the node is there, or says that it is not', async () => {
    await kindling('node', 'register', '--serial', 'WATCH123', '--name', 'watched');
    const done = await kindling('node', 'watch', 'watched', '--until', 'registered', '--timeout', '5');
    expect(done.code).toBe(0);
    const late = await kindling('node', 'watch', 'watched', '--until', 'running', '--timeout', '1');
    expect(late).toMatchObject({ code: 1, err: expect.stringContaining('KND_TIMEOUT') });
  });

  test('wrong usage is 2, no server is 3', async () => {
    expect((await kindling('node', 'list', '--output', 'xml')).code).toBe(2);
    expect((await kindling('node', 'nonsense')).code).toBe(2);
    expect((await kindling('node', 'register')).code).toBe(2);
    const nobody = await kindling('node', 'list', '--server', 'https://127.0.0.1:1');
    expect(nobody).toMatchObject({ code: 3, err: expect.stringContaining('KND_STUB_UNREACHABLE') });
  });

  test('people get tokens, and what they did is written down', async () => {
    expect(await kindling('user', 'add', 'ann', '--role', 'viewer')).toMatchObject({
      code: 0,
      out: 'ann is viewer from now on',
    });
    expect((await kindling('user', 'add', 'ann', '--role', 'king')).err).toMatch(
      /KND_USAGE: --role is viewer/,
    );
    const { out: token } = await kindling('token', 'create', '--for', 'ann', '--expires', '2h');
    expect(token).toMatch(/^knd_/);
    const asAnn = (...args: string[]) =>
      execa(process.execPath, [MAIN, ...args, '--state', folder], {
        reject: false,
        env: { KINDLING_TOKEN: token },
      });
    expect(String((await asAnn('user', 'me')).stdout)).toMatch(/^name +ann\nrole +viewer\n/);
    expect(await asAnn('user', 'remove', 'ann')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('KND_API_FORBIDDEN'),
    });
    const [{ id }] = await asJson('token', 'list');
    expect(await kindling('token', 'revoke', id)).toMatchObject({ code: 0 });
    expect(String((await asAnn('user', 'me')).stderr)).toContain('KND_API_UNAUTHENTICATED');
    expect(await kindling('user', 'remove', 'ann')).toMatchObject({ code: 0 });

    const { out: table } = await kindling('audit', '--since', '1h');
    expect(table).toMatch(/operator \(admin\) .* putUser .* done .*role: none → viewer/);
    const { out: exported } = await kindling('audit', '--json', '--who', 'ann');
    expect(JSON.parse(exported)).toMatchObject({ action: 'removeUser', result: 'KND_API_FORBIDDEN' });
    expect(await kindling('audit', 'verify')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+ lines are as they were written/),
    });
    const wrong = `1:${'0'.repeat(64)}`;
    expect(await kindling('audit', 'verify', '--expect', wrong)).toMatchObject({
      code: 4,
      err: expect.stringContaining('KND_AUDIT_BROKEN: the audit log breaks at line 1'),
    });
  });

  test('a site is kept in files: applied twice it stays as it is, and it can be exported', async () => {
    const file = join(folder, 'applied.yaml');
    await writeFile(
      file,
      `apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata: {name: applied-1, labels: {from: git}}
spec: {interfaces: [{dhcp: {mac: "52:54:00:aa:00:01"}}]}
---
apiVersion: tinkerbell.org/v1alpha1
kind: Template
metadata: {name: applied}
spec:
  data: |
    version: "0.1"
    name: applied
    global_timeout: 600
    tasks: [{name: t, worker: "{{ .device_1 }}", actions: [{name: a, image: example.org/a:1, timeout: 60}]}]
---
apiVersion: tinkerbell.org/v1alpha1
kind: Workflow
metadata: {name: applied-1}
spec: {templateRef: applied, hardwareRef: applied-1, disabled: true}
`,
    );
    const actions = (out: { action: string }[]) => out.map(({ action }) => action);
    expect((await kindling('apply', '-f', file, '--dry-run')).out).toContain(
      'Node applied-1: would be created',
    );
    expect(actions(await asJson('apply', '-f', file))).toEqual(['create', 'create', 'create']);
    expect(actions(await asJson('apply', '-f', file))).toEqual(['unchanged', 'unchanged', 'unchanged']);
    const exported = join(folder, 'exported.yaml');
    await writeFile(exported, (await kindling('export')).out);
    expect(new Set(actions(await asJson('apply', '-f', exported)))).toEqual(new Set(['unchanged']));
    await writeFile(file, '');
    expect((await kindling('apply', '-f', file, '--prune', 'from=git')).out).toBe('Node applied-1: deleted');
  });
});
