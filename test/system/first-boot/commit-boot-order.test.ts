import { type StdioOptions, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstBootScript } from '../../../system/first-boot/first-boot-script.ts';

const GUID = '8be4df61-93ca-11d2-aa0d-00e098032b8c';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'kindling-commit-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (name: string) => path.join(folder, 'efi/efivars', `${name}-${GUID}`);

function firmware(current: number, order: readonly number[]): void {
  mkdirSync(path.join(folder, 'efi/efivars'), { recursive: true });
  writeFileSync(file('BootCurrent'), Buffer.from([6, 0, 0, 0, current & 0xff, current >> 8]));
  writeFileSync(
    file('BootOrder'),
    Buffer.from([7, 0, 0, 0, ...order.flatMap((number) => [number & 0xff, number >> 8])]),
  );
}

/** Runs the script as an installed system would, with its firmware in a folder; tells what it complains about. */
function commit(shell = 'sh'): string {
  const script = firstBootScript({ commitsBootOrder: true })
    .replaceAll('/sys/firmware/efi', path.join(folder, 'efi'))
    .replaceAll('/etc/kindling', path.join(folder, 'etc'));
  writeFileSync(path.join(folder, 'cloud-init'), '#!/bin/sh\n', { mode: 0o755 }); // that of this machine takes seconds
  const env = { PATH: `${folder}:/usr/bin:/bin` };
  // With a socket as its input bash takes itself for a remote shell and reads .bashrc.
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
  const { stderr, status } = spawnSync(shell, ['-c', script], { encoding: 'utf8', env, stdio });
  expect(status).toBe(0);
  return stderr;
}

describe('an installed system that commits the boot order', () => {
  it.each(['sh', 'bash'])('moves what it was booted from to the head and keeps the rest, in %s', (shell) => {
    firmware(0x0107, [2, 0x0107, 0, 10]);
    expect(commit(shell)).toBe('');
    expect([...readFileSync(file('BootOrder'))]).toEqual([7, 0, 0, 0, 7, 1, 2, 0, 0, 0, 10, 0]);
  });

  it('adds itself when the firmware has dropped it from the order', () => {
    firmware(7, [2, 0]);
    expect(commit()).toBe('');
    expect([...readFileSync(file('BootOrder')).subarray(4)]).toEqual([7, 0, 2, 0, 0, 0]);
  });

  it('writes nothing when it leads already', () => {
    firmware(7, [7, 2]);
    writeFileSync(file('BootOrder'), Buffer.from([3, 0, 0, 0, 7, 0, 2, 0]));
    expect(commit()).toBe('');
    expect(readFileSync(file('BootOrder'))[0]).toBe(3);
  });

  it('has nothing to do on a machine with a BIOS', () => {
    expect(commit()).toBe('');
  });

  it('says so where the firmware tells no boot order', () => {
    mkdirSync(path.join(folder, 'efi/efivars'), { recursive: true });
    expect(commit()).toContain('the firmware does not take the boot order');
  });
});
