import { createSocket } from 'node:dgram';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NODE, RunningStub } from '../running-stub.ts';

const HOST = 'SYSLOG1';
let running: RunningStub;
let nodeId = '';

beforeAll(async () => {
  running = await RunningStub.start({ syslogPort: 0 });
  nodeId = (await running.api('POST', '/api/v1/nodes', { json: { uuid: NODE.uuid } })).body.id;
  await running.knock({ hostIp: '127.0.0.1' });
});
afterAll(() => running[Symbol.asyncDispose]());

it('what a real logger sends from the address of a node is in its log; what other addresses and junk send is nowhere', async () => {
  const port = String(running.stub.syslogPort);
  const logger = `logger --udp --server 127.0.0.1 --port ${port} --rfc5424 --tag cloud-init --priority user.err`;
  await execa('unshare', ['--uts', 'sh', '-ec', `hostname ${HOST}; ${logger} no datasource`]);
  const send = (text: string, from = '127.0.0.1') =>
    new Promise<void>((resolve) => {
      const socket = createSocket('udp4').bind(0, from, () =>
        socket.send(text, Number(port), '127.0.0.1', () => socket.close(() => resolve())),
      );
    });
  await send(`<30>Jan  2 03:04:06 ${nodeId} dhclient[1]: a stranger`, '127.0.0.2');
  await send('no syslog at all');
  await send(`<30>Jan  2 03:04:06 ${HOST} dhclient[1]: bound to 10.0.0.7`);

  const logs = async () => (await running.api('GET', `/api/v1/nodes/${nodeId}/logs`)).text;
  await expect.poll(logs).toContain('bound to 10.0.0.7');
  const text = await logs();
  expect(text).toContain('"level":"error"');
  expect(text).toContain('syslog cloud-init');
  expect(text).not.toContain('a stranger');
});
