import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchByTftp } from '../../../lab/pxe/tftp-client.ts';
import { TftpFolder } from '../../../netboot/tftp/tftp-folder.ts';
import {
  startTftpServer,
  type TftpEvent,
  type TftpServer,
  type TftpServerOptions,
} from '../../../netboot/tftp/tftp-server.ts';
import { TftpTransfer } from '../../../netboot/tftp/tftp-transfer.ts';

let root: string;
const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) & 0xff));

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'kindling-tftp-'));
  writeFileSync(join(root, 'ipxe.efi'), content);
  writeFileSync(join(root, 'even.bin'), content.subarray(0, 1468 * 4));
  symlinkSync('/etc/passwd', join(root, 'leak'));
});
afterAll(() => rmSync(root, { recursive: true }));

async function serve(
  options: Partial<TftpServerOptions> = {},
): Promise<TftpServer & { events: TftpEvent[] }> {
  const events: TftpEvent[] = [];
  const server = await startTftpServer({
    address: '127.0.0.1',
    port: 0,
    files: new TftpFolder(root),
    onEvent: (event) => events.push(event),
    ...options,
  });
  return Object.assign(server, { events });
}

describe('TFTP server', () => {
  it.each([true, false])('gives a plain client 512-byte blocks (single port: %s)', async (singlePort) => {
    await using server = await serve({ singlePort });
    const fetched = await fetchByTftp('ipxe.efi', { port: server.port });
    expect(fetched.content.equals(content)).toBe(true);
    expect(fetched.accepted.size).toBe(0);
  });

  it('agrees on block size, window and file size, within its limits', async () => {
    await using server = await serve();
    const { content: got, accepted } = await fetchByTftp('52:54:00:00:00:01/ipxe.efi', {
      port: server.port,
      options: { tsize: '0', blksize: '65464', windowsize: '500', timeout: '3', unheard: 'of' },
    });
    expect(got.equals(content)).toBe(true);
    expect(Object.fromEntries(accepted)).toEqual({
      tsize: '300000',
      blksize: '1468',
      windowsize: '64',
      timeout: '3',
    });
  });

  it('ends a file that is a multiple of the block size with an empty block', async () => {
    await using server = await serve();
    const fetched = await fetchByTftp('even.bin', { port: server.port, options: { blksize: '1468' } });
    expect(fetched.content.length).toBe(1468 * 4);
  });

  it('gets a file through a link that loses packets, also the first of a window', async () => {
    await using server = await serve();
    const fetched = await fetchByTftp('ipxe.efi', {
      port: server.port,
      options: { blksize: '1468', windowsize: '8' },
      drop: (index) => index === 3 || index === 16 || index === 40,
    });
    expect(fetched.content.equals(content)).toBe(true);
  });

  it('serves two hundred clients at once', async () => {
    await using server = await serve({ singlePort: true });
    const all = await Promise.all(
      Array.from({ length: 200 }, () =>
        fetchByTftp('ipxe.efi', { port: server.port, options: { blksize: '1468', windowsize: '4' } }),
      ),
    );
    expect(all.every((fetched) => fetched.content.equals(content))).toBe(true);
    await expect.poll(() => server.activeTransfers()).toBe(0);
    expect(server.events.filter(({ outcome }) => outcome === 'complete')).toHaveLength(200);
  }, 30_000);

  it.each(['nothing.efi', '', 'a/b/c'])('answers “not found” for %j', async (file) => {
    await using server = await serve();
    await expect(fetchByTftp(file || 'x', { port: server.port })).rejects.toThrow('TFTP error 1');
  });

  it.each(['../../etc/passwd', 'a/../../b', '..\\..\\windows', 'leak'])(
    'never leaves its root: %s',
    async (file) => {
      await using server = await serve();
      await expect(fetchByTftp(file, { port: server.port })).rejects.toThrow(/TFTP error [12]/);
    },
  );

  it('makes one transfer of a request that comes twice while the file is being opened', async () => {
    const opened = Promise.withResolvers<Buffer>();
    const asked: string[] = [];
    await using server = await serve({
      files: {
        read: (name) => {
          asked.push(name);
          return opened.promise;
        },
      },
    });
    const client = createSocket('udp4');
    const request = Buffer.from('\0\x01slow.efi\0octet\0', 'latin1');
    client.send(request, server.port, '127.0.0.1');
    client.send(request, server.port, '127.0.0.1');
    await expect.poll(() => asked).toHaveLength(2);
    opened.resolve(content);
    await once(client, 'message');
    await expect.poll(() => server.activeTransfers()).toBe(1);
    client.close();
  });

  it('is read-only', async () => {
    await using server = await serve();
    const answer = await rawExchange(server.port, Buffer.from('\0\x02evil\0octet\0', 'latin1'));
    expect(answer.readUInt16BE(0)).toBe(5);
    expect(answer.readUInt16BE(2)).toBe(2);
  });

  it('answers garbage with an error and goes on serving', async () => {
    await using server = await serve();
    const answer = await rawExchange(server.port, Buffer.from('deadbeefcafe', 'hex'));
    expect(answer.readUInt16BE(2)).toBe(4);
    await expect(fetchByTftp('ipxe.efi', { port: server.port })).resolves.toMatchObject({ packets: 586 });
  });

  it('takes ports from the range it was given', async () => {
    await using server = await serve({ portRange: { from: 40_000, to: 40_049 } });
    await expect(fetchByTftp('ipxe.efi', { port: server.port })).resolves.toBeDefined();
  });

  it('uses a changed file for the next transfer', async () => {
    await using server = await serve();
    writeFileSync(join(root, 'script'), 'one');
    expect((await fetchByTftp('script', { port: server.port })).content.toString()).toBe('one');
    writeFileSync(join(root, 'script'), 'twotwo');
    expect((await fetchByTftp('script', { port: server.port })).content.toString()).toBe('twotwo');
  });
});

describe('a transfer', () => {
  it('repeats what was not acknowledged, then gives up', () => {
    const transfer = new TftpTransfer(content, new Map([['blksize', '1468']]), 1468);
    const [optionAck] = transfer.start().send;
    expect(transfer.timeOut().send).toEqual([optionAck]);
    const [first] = transfer.receive({ type: 'ack', block: 0 }).send;
    expect(transfer.timeOut().send).toEqual([first]);
    const outcomes = Array.from({ length: 6 }, () => transfer.timeOut().outcome);
    expect(outcomes).toContain('timed-out');
  });

  it('does not double its packets for a repeated acknowledgment', () => {
    const transfer = new TftpTransfer(content, new Map(), 1468);
    transfer.start();
    expect(transfer.receive({ type: 'ack', block: 1 }).send).toHaveLength(1);
    expect(transfer.receive({ type: 'ack', block: 1 }).send).toHaveLength(0);
  });

  it('goes past block 65,535', () => {
    const large = Buffer.alloc(8 * 70_000 + 3, 1);
    const transfer = new TftpTransfer(large, new Map([['blksize', '8']]), 1468);
    transfer.start();
    let step = transfer.receive({ type: 'ack', block: 0 });
    let blocks = 0;
    while (!step.outcome) {
      blocks += 1;
      step = transfer.receive({ type: 'ack', block: blocks & 0xffff });
    }
    expect(blocks).toBe(70_001);
  });

  it('ends when the client refuses it, as OVMF does after asking for the size', () => {
    const transfer = new TftpTransfer(content, new Map([['tsize', '0']]), 1468);
    transfer.start();
    expect(transfer.receive({ type: 'error', code: 8, message: 'User aborted the transfer' }).outcome).toBe(
      'aborted',
    );
  });
});

async function rawExchange(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = createSocket('udp4');
  socket.send(bytes, port, '127.0.0.1');
  const [answer] = (await once(socket, 'message')) as [Buffer];
  socket.close();
  return answer;
}
