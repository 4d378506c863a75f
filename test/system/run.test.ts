import { describe, expect, it, vi } from 'vitest';
import { run } from '../../system/run.ts';

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

  it('names a program that is not installed', async () => {
    await expect(run('no-such-program', [])).rejects.toMatchObject({ code: 'KND_TOOL_MISSING' });
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

  it('starts nothing once it is cancelled', async () => {
    await expect(
      run('no-such-program', [], { signal: AbortSignal.abort(new Error('cancelled')) }),
    ).rejects.toThrow('cancelled');
  });

  it('does not hand the registry’s password on', async () => {
    vi.stubEnv('REGISTRY_PASSWORD', 'hunter2');
    vi.stubEnv('REGISTRY_USERNAME', 'somebody');
    const { stdout } = await run('env', []);
    vi.unstubAllEnvs();
    expect(stdout).toContain('REGISTRY_USERNAME=somebody');
    expect(stdout).not.toContain('hunter2');
  });

  it('stops when it is cancelled', async () => {
    const controller = new AbortController();
    const running = run('sleep', ['60'], { signal: controller.signal });
    controller.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
  });
});
