import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** The processes whose command line holds a word that only this test uses. */
function processesWith(word: string): string[] {
  return readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      return readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(word);
    } catch {
      return false; // ended meanwhile
    }
  });
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s to npm ends the program that npm run started',
  async (signal) => {
    const state = await mkdtemp(join(tmpdir(), 'kindling-signal-'));
    onTestFinished(() => rm(state, { recursive: true, force: true }));
    const args = ['run', 'kindling', '--', 'serve', '--state', state, '--host', '127.0.0.1', '--port', '0'];
    const npm = execa('npm', args, { cwd: ROOT, reject: false, stdin: 'ignore' });
    const ready = Promise.withResolvers<void>();
    npm.stdout.on('data', (chunk: Buffer) => chunk.toString().includes('kindling serves') && ready.resolve());
    void npm.then(() => ready.reject(new Error('npm ended before the server was there')));
    await ready.promise;

    npm.kill(signal);
    await npm;
    await expect.poll(() => processesWith(state)).toEqual([]);
  },
);
