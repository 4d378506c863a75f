import { describe, expect, it } from 'vitest';
import { run } from '../../../agent/system/run.ts';

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

  it('stops when it is cancelled', async () => {
    const controller = new AbortController();
    const running = run('sleep', ['60'], { signal: controller.signal });
    controller.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
  });
});
