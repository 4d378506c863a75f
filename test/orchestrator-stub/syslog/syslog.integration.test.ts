import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stub, startStub } from '../../../orchestrator-stub/serve.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-syslog-'));
const HOST = 'SYSLOG1';
let stub: Stub;
let nodeId = '';
const api = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${stub.urls.http}/api/v1${path}`, {
    method,
    ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
};

beforeAll(async () => {
  stub = await startStub({
    stateFolder: folder,
    host: '127.0.0.1',
    port: false,
    plainPort: 0,
    syslogPort: 0,
  });
  nodeId = ((await api('POST', '/nodes', { serial: HOST })) as { id: string }).id;
});
afterAll(async () => {
  await stub.close();
  rmSync(folder, { recursive: true, force: true });
});

it('what a real logger sends is in the log of the node it names; what strangers and junk send is nowhere', async () => {
  const port = String(stub.syslogPort);
  const logger = `logger --udp --server 127.0.0.1 --port ${port} --rfc5424 --tag cloud-init --priority user.err`;
  await execa('unshare', ['--uts', 'sh', '-ec', `hostname ${HOST}; ${logger} no datasource`]);
  const socket = createSocket('udp4');
  const send = (text: string) =>
    new Promise<void>((resolve) => socket.send(text, Number(port), '127.0.0.1', () => resolve()));
  await send(`<30>Jan  2 03:04:06 ${HOST} dhclient[1]: bound to 10.0.0.7`);
  await send('<30>Jan  2 03:04:06 nobody dhclient[1]: a stranger');
  await send('no syslog at all');
  socket.close();

  const logs = () => api('GET', `/nodes/${nodeId}/logs`);
  await expect.poll(async () => JSON.stringify(await logs())).toContain('bound to 10.0.0.7');
  const text = JSON.stringify(await logs());
  expect(text).toContain('"level":"error"');
  expect(text).toContain('syslog cloud-init');
  expect(text).not.toContain('a stranger');
});
