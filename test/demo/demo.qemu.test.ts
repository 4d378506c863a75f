import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureMutableTarget } from '../../lab/target-images/mutable.ts';
import { waitFor } from '../../system/wait.ts';

const MAIN = 'demo/main.ts';

// Not in the time that the demo has for its first offer.
beforeAll(async () => {
  await ensureMutableTarget();
});

describe('npm run demo', () => {
  // To a running node, template ubuntu: demo-ubuntu.long.test.ts; an immutable one: provisioning/immutable.qemu.test.ts
  it('ends cleanly at Ctrl-C in the middle', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kindling-demo-test-'));
    const demo = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', MAIN, '--bios', '--json'],
      {
        env: { ...process.env, TMPDIR: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    try {
      let output = '';
      demo.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      await waitFor(() => output.includes('"stage":"offer"') || undefined, {
        name: 'the first boot offer',
        timeoutMs: 120_000,
      });
      const children = childrenOf(demo.pid ?? 0);
      expect(children.length).toBeGreaterThan(0);
      demo.kill('SIGINT');
      const [exitCode] = await once(demo, 'exit');
      expect(exitCode).toBe(130);
      const isGone = () => (children.some((pid) => existsSync(`/proc/${pid}`)) ? undefined : true);
      await waitFor(isGone, { name: 'the end of every child process', timeoutMs: 60_000 });
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      demo.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.each([['--nodes', 'none'], ['--memory', '1'], ['--bioss']])('refuses %s %s', async (...args) => {
    const { exitCode, stderr } = await execa(process.execPath, [MAIN, ...args], { reject: false });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(args[0]);
  });
});

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
