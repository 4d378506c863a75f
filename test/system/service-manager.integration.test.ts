import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { notifyReady } from '../../system/service-manager.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-notify-test-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

it('tells the service manager, over the socket that it names, that the service is up', async () => {
  const path = join(folder, 'notify');
  const manager = execa('socat', ['-u', `UNIX-RECVFROM:${path}`, 'STDOUT']);
  await expect.poll(() => existsSync(path)).toBe(true);
  notifyReady({ NOTIFY_SOCKET: path });
  expect((await manager).stdout).toBe('READY=1');
});

it('does nothing where there is no service manager', () => {
  expect(() => notifyReady({})).not.toThrow();
});
