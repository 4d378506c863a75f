import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { newDiskKeys } from '../../../actions/encryption/disk-keys.ts';
import { escrowRecoveryKey } from '../../../actions/encryption/escrow.ts';
import { serveRecoveryKeys } from '../../../agent/standalone/recovery-key-server.ts';
import { StickFolder } from '../../../agent/standalone/stick-folder.ts';
import { type Run, run } from '../../../system/run.ts';
import { ext4Disk, loopDisk, withMounted } from '../../actions/loop-disk.ts';

const { signal } = new AbortController();
/** This host's kernel has no FAT: the stick has an ext4 in its place. */
const withoutFat: Run = (program, args, options) =>
  run(
    program,
    args.map((arg) => (arg === 'vfat' ? 'ext4' : arg)),
    options,
  );

it('a recovery key is on the stick before the action is told so, each key once', async () => {
  await using stick = await ext4Disk();
  const server = await serveRecoveryKeys(new StickFolder(stick.device, 'node:1', withoutFat));
  const request = {
    KINDLING_ESCROW_URL: server.url,
    KINDLING_ESCROW: 'required',
    TLS_CA_CERT: undefined,
  } as const;
  const [first, second] = [newDiskKeys(), newDiskKeys()];
  try {
    for (const keys of [first, first, second]) {
      await escrowRecoveryKey(request, keys, { serial: 'D1', sizeBytes: 1 } as never, signal);
    }
    const nonsense = await fetch(server.url, { method: 'POST', body: '{"keyId": 1}' });
    expect(nonsense.status).toBe(503);
  } finally {
    await server.close();
  }
  await withMounted(stick.device, async (folder) => {
    const text = await readFile(path.join(folder, 'recovery-keys', 'node_1.json'), 'utf8');
    expect(JSON.parse(text)).toMatchObject([
      { keyId: first.keyId, recoveryKey: first.recoveryKey, disk: { serial: 'D1' } },
      { keyId: second.keyId, recoveryKey: second.recoveryKey },
    ]);
  });
});

it('a stick that cannot be written is no safe place', async () => {
  await using stick = await loopDisk(1 << 20); // no file system on it
  const server = await serveRecoveryKeys(new StickFolder(stick.device, 'node-1', withoutFat));
  const { keyId, recoveryKey } = newDiskKeys();
  const body = JSON.stringify({ keyId, recoveryKey, disk: {} });
  const answer = await fetch(server.url, { method: 'POST', body });
  expect(answer.status).toBe(503);
  await server.close();
});
