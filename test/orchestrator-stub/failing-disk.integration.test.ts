import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fsyncSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FailingDisk } from './failing-disk.ts';

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'w');
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
}

/** A process whose mount namespace has all that is mounted now, as a container that starts meanwhile has for a moment. */
async function holdMounts(): Promise<AsyncDisposable> {
  const holder = spawn('unshare', ['--mount', 'sh', '-c', 'echo ready; exec sleep infinity']);
  await once(holder.stdout, 'data');
  return {
    async [Symbol.asyncDispose]() {
      holder.kill();
      await once(holder, 'exit');
    },
  };
}

test('a disk that was shut down works again after it is mounted again, though another mount namespace still has it', async () => {
  await using disk = await FailingDisk.make();
  const [synced, later] = [join(disk.folder, 'synced'), join(disk.folder, 'later')];
  writeSynced(synced, 'there');
  await using _holder = await holdMounts();
  await disk.shutDown();
  expect(() => readFileSync(synced)).toThrow('EIO');
  await disk.mountAgain();
  expect(readFileSync(synced, 'utf8')).toBe('there');
  writeFileSync(later, 'again');
  expect(readFileSync(later, 'utf8')).toBe('again');
});
