import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leaveMicroOs, type MachineToLeave } from '../../system/leave-micro-os.ts';
import { type Run, run } from '../../system/run.ts';

let folder: string;
let calls: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'leave-'));
  calls = path.join(folder, 'calls');
  writeFileSync(calls, '');
  for (const name of ['sync', 'umount', 'reboot', 'poweroff', 'kexec']) program(name);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A program in the PATH of the test that notes how it was called, and then does `body`. */
function program(name: string, body = 'exit 0'): void {
  const file = path.join(folder, name);
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >>'${calls}'\n${body}\n`);
  chmodSync(file, 0o755);
}

const HANGS = 'while :; do /bin/sleep 60; done';

/** Only the programs of the test are in PATH: nothing here can reach the machine that runs it. */
const fakePrograms: Run = (name, args, options) => run(name, args, { ...options, env: { PATH: folder } });

/** Leaves until the last key is pressed, and tells what happened in which order. */
async function leave(how: 'reboot' | 'poweroff' | 'kexec', machine: Partial<MachineToLeave> = {}) {
  const keys: string[] = [];
  const left = new AbortController();
  const leaving = leaveMicroOs(
    how,
    {
      run: fakePrograms,
      mounts: () => '',
      sysrq(key) {
        keys.push(key);
        if (key === 'b' || key === 'o') left.abort(new Error('left'));
      },
      ...machine,
    },
    { deadlineMs: 300, signal: left.signal },
  );
  const end = await leaving.catch((thrown: Error) => thrown);
  return { end, keys, calls: readFileSync(calls, 'utf8').trim().split('\n') };
}

describe('the way out of the Micro-OS', () => {
  it('flushes, takes away what was mounted last first, and reboots', async () => {
    const mounts = () =>
      [
        '/dev/sda2 / ext4 rw 0 0',
        '/dev/sda2 /mnt/target ext4 rw 0 0',
        '/dev/sda1 /mnt/target/boot vfat rw 0 0',
        'tmpfs /mnt-of-others tmpfs rw 0 0',
      ].join('\n');
    const { calls } = await leave('reboot', { mounts });
    expect(calls).toEqual(['sync ', 'umount -l /mnt/target/boot', 'umount -l /mnt/target', 'reboot -f']);
  });

  it.each([
    ['sync', 'reboot', ['s', 'u', 'b']],
    ['umount', 'reboot', ['s', 'u', 'b']],
    ['reboot', 'reboot', ['s', 'u', 'b']],
    ['poweroff', 'poweroff', ['s', 'u', 'o']],
    ['kexec', 'kexec', ['s', 'u', 'b']],
  ] as const)('a %s that hangs does not keep the machine from its %s', async (hanging, how, pressed) => {
    program(hanging, HANGS);
    const { keys, calls } = await leave(how, { mounts: () => 'tmpfs /tmp/x tmpfs rw 0 0' });
    expect(calls).toHaveLength(3);
    expect(keys).toEqual(pressed);
  });

  it('a program that not even SIGKILL ends is left behind', async () => {
    const hangsInTheKernel: Run = () => new Promise(() => {});
    expect((await leave('reboot', { run: hangsInTheKernel })).keys).toEqual(['s', 'u', 'b']);
  });

  it('a reboot that fails ends with the kernel’s key', async () => {
    program('reboot', 'exit 1');
    expect((await leave('reboot')).keys).toEqual(['s', 'u', 'b']);
  });

  it('a kexec that refuses is an error: the machine is still as it was', async () => {
    program('kexec', 'echo "Nothing has been loaded!" >&2; exit 1');
    const { end, keys } = await leave('kexec');
    expect(end).toMatchObject({
      code: 'KND_COMMAND_FAILED',
      message: expect.stringContaining('Nothing has been loaded'),
    });
    expect(keys).toEqual([]);
  });
});
