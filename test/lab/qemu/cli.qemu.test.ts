import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';

function npmRunQemu(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'qemu', '--', ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('npm run qemu -- --action', () => {
  it('boots, runs the action with its variables, shows its console and only the result on standard output, and exits with the result’s code', async () => {
    await microOsKernel();
    const { status, stdout, stderr } = npmRunQemu(
      ...['--disk', 'nvme:64M,serial=A1', '--memory', '384', '--action', 'cexec'],
      ...['--set', 'CMD_LINE=no-such-program "with a space"'],
    );
    expect(status, stderr).not.toBe(0);
    const result = JSON.parse(stdout) as { action: string; status: string; exitCode: number };
    expect(result).toMatchObject({ action: 'cexec', status: 'failed', exitCode: status });
    expect(stderr).not.toContain('Linux version');
    expect(stderr).toContain('running cexec');
  });

  it('says what is wrong with the arguments before anything is built, exit code 2', () => {
    const { status, stdout, stderr } = npmRunQemu('--disk', 'floppy:1M');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('floppy');
  });
});
