import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';

it.each(['SIGINT', 'SIGTERM'] as const)(
  'a benchmark that is stopped by %s leaves no disk, no server and no program',
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), 'kindling-bench-test-'));
    writeFileSync(join(folder, 'sizes.json'), JSON.stringify({ big: 1, unit: 1, small: 1 }));
    const program = execa(process.execPath, [join(import.meta.dirname, 'stopped-program.ts'), folder], {
      reject: false,
    });
    const [line] = await new Promise<Buffer[]>((resolve) =>
      program.stdout.once('data', (text) => resolve([text])),
    );
    const { target, url } = JSON.parse(String(line)) as { target: string; url: string };
    const { stdout: ours } = await execa('pgrep', ['-P', String(program.pid)]);
    expect(ours.split('\n')).toHaveLength(2); // nginx, and what is measured
    program.kill(signal);
    expect((await program).exitCode).toBe(signal === 'SIGINT' ? 130 : 143);
    expect(existsSync(`/sys/block/${basename(target)}/loop/backing_file`)).toBe(false);
    await expect
      .poll(() => execa('ps', ['-o', 'pid=', '-p', ours.replaceAll('\n', ',')], { reject: false }), {
        timeout: 10_000,
      })
      .toMatchObject({ stdout: '' });
    await expect(fetch(url)).rejects.toThrow();
    expect(existsSync(join(folder, 'target.img'))).toBe(false);
    rmSync(folder, { recursive: true });
  },
);
