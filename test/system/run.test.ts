import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { toErrorReport } from '../../protocol/error.ts';
import { run, stderrOf } from '../../system/run.ts';

describe('run', () => {
  it('gives output, exit code and duration', async () => {
    const result = await run('sh', ['-c', 'cat; echo oops >&2'], { input: 'hello' });
    expect(result).toMatchObject({ stdout: 'hello', stderr: 'oops\n', exitCode: 0 });
  });

  it('fails with the program’s own words', async () => {
    await expect(run('sh', ['-c', 'echo disk is on fire >&2; exit 7'])).rejects.toMatchObject({
      code: 'KND_COMMAND_FAILED',
      message: expect.stringContaining('exit code 7: disk is on fire'),
    });
  });

  it('tells all about a failure: what was started, where, how it ended, and the last of what it said', async () => {
    const script = 'echo secret; head -c 9000 /dev/zero | tr "\\0" x >&2; echo >&2; echo the end >&2; exit 7';
    const thrown = await run('sh', ['-c', script], { cwd: '/' }).catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      code: 'KND_COMMAND_FAILED',
      evidence: {
        command: `sh -c ${script}`,
        cwd: '/',
        exitCode: 7,
        signal: null,
        timedOut: false,
        durationMs: expect.any(Number),
      },
    });
    expect(stderrOf(thrown)).toMatch(/^x+\nthe end$/);
    expect(stderrOf(thrown).length).toBeLessThan(4097);
    expect(JSON.stringify(toErrorReport(thrown).evidence)).not.toContain('secret\\n');
  });

  it('tells how a program was killed, and by a deadline of ours or not', async () => {
    await expect(run('sh', ['-c', 'kill -TERM $$'])).rejects.toMatchObject({
      code: 'KND_COMMAND_FAILED',
      evidence: { exitCode: null, signal: 'SIGTERM', timedOut: false },
    });
    await expect(run('sleep', ['60'], { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'KND_TIMEOUT',
      evidence: { exitCode: null, signal: 'SIGKILL', timedOut: true },
    });
  });

  it('names a program that is not installed, and the Debian package where it is known', async () => {
    await expect(run('no-such-program', [])).rejects.toMatchObject({
      code: 'KND_TOOL_MISSING',
      message: 'the program no-such-program is not installed',
      hint: 'Install the package that the message names.',
    });
    await expect(run('/nowhere/mkfs.vfat', [])).rejects.toMatchObject({
      code: 'KND_TOOL_MISSING',
      hint: 'Install the Debian package dosfstools.',
    });
  });

  it('does not call a program missing when it is the working directory that is', async () => {
    await expect(run('true', [], { cwd: '/no/such/folder' })).rejects.toMatchObject({
      code: 'KND_COMMAND_FAILED',
      evidence: { cwd: '/no/such/folder' },
    });
  });

  it('stays in our process group in the foreground, where Ctrl-C reaches it, and in one of its own otherwise', async () => {
    const groupOf = async (pid: string) => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(' ')[4];
    const ours = await groupOf('self');
    const script = 'cut -d " " -f 5 /proc/self/stat';
    expect((await run('sh', ['-c', script], { foreground: true })).stdout.trim()).toBe(ours);
    expect((await run('sh', ['-c', script])).stdout.trim()).not.toBe(ours);
  });

  it('ends a program in the foreground at its deadline', async () => {
    await expect(run('sleep', ['60'], { foreground: true, timeoutMs: 50 })).rejects.toMatchObject({
      code: 'KND_TIMEOUT',
    });
  });

  it('accepts exit codes that are an answer', async () => {
    await expect(run('false', [], { okExitCodes: [0, 1] })).resolves.toMatchObject({ exitCode: 1 });
  });

  it('ends the whole process tree at the deadline', async () => {
    const mark = `sleep 98${Math.floor(Math.random() * 1e6)}`;
    await expect(run('sh', ['-c', `${mark} & ${mark}; wait`], { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'KND_TIMEOUT',
    });
    const left = await run('pgrep', ['-fx', mark], { okExitCodes: [0, 1] });
    expect(left.stdout).toBe('');
  });

  it('does not wait for what a program left in the background with its output', async () => {
    const mark = `sleep 97${Math.floor(Math.random() * 1e6)}`;
    const result = await run('sh', ['-c', `echo done; ${mark} & setsid ${mark} &`]);
    expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0 });
    expect(result.durationMs).toBeLessThan(30_000);
    const { stdout } = await run('pgrep', ['-fx', mark], { okExitCodes: [0, 1] });
    for (const pid of stdout.split('\n').filter(Boolean)) process.kill(Number(pid)); // the one with a session of its own
    expect(stdout.split('\n').filter(Boolean).length).toBeLessThan(2);
  });

  it('starts nothing once it is canceled', async () => {
    await expect(
      run('no-such-program', [], { signal: AbortSignal.abort(new Error('canceled')) }),
    ).rejects.toThrow('canceled');
  });

  it('does not hand the registry’s password on', async () => {
    vi.stubEnv('REGISTRY_PASSWORD', 'hunter2');
    vi.stubEnv('REGISTRY_USERNAME', 'somebody');
    const { stdout } = await run('env', []);
    vi.unstubAllEnvs();
    expect(stdout).toContain('REGISTRY_USERNAME=somebody');
    expect(stdout).not.toContain('hunter2');
  });

  it('names no temporary folder of this root to what runs in another', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kindling-run-test-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'chroot'), '#!/bin/sh\nenv\n', { mode: 0o755 });
    vi.stubEnv('TMPDIR', folder);
    vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
    const [here, there] = [await run('env', []), await run('chroot', ['/target', 'env'])];
    vi.unstubAllEnvs();
    expect(here.stdout).toContain(`TMPDIR=${folder}`);
    expect(there.stdout).not.toContain('TMPDIR=');
  });

  it('stops when it is canceled', async () => {
    const controller = new AbortController();
    const running = run('sleep', ['60'], { signal: controller.signal });
    controller.abort(new Error('canceled'));
    await expect(running).rejects.toThrow('canceled');
  });
});
