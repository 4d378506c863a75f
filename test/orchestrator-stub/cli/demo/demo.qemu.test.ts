import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { waitFor } from '../../../../agent/system/wait.ts';
import { microOsKernel } from '../../../../lab/qemu/micro-os.ts';

const MAIN = 'orchestrator-stub/cli/main.ts';

/** Temporary files of the demo land in a folder of their own, so that what it leaves behind can be seen. */
function startDemo(...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-demo-test-'));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, 'demo', ...args], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    for (const look of watchers) look();
  });
  return {
    child,
    folder,
    output: () => output,
    saw: (text: string) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (output.includes(text)) resolve();
      };
      watchers.add(look);
      look();
      return promise;
    },
    [Symbol.dispose]: () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe('kindling demo', () => {
  it('shows a node from power-on to what the orchestrator knows, draws it, and leaves nothing behind', async () => {
    await microOsKernel();
    using demo = startDemo('--picture', 'build/demo-test.svg');
    const [exitCode] = await once(demo.child, 'exit');
    const output = demo.output();
    expect(exitCode, output).toBe(0);
    for (const stage of [
      'power on',
      'kernel',
      'Micro-OS up',
      'identity',
      'network',
      'inventory',
      'discovered',
    ]) {
      expect(output).toMatch(new RegExp(`^✔ ${stage} +[\\d.]+ s`, 'm'));
    }
    expect(output).toMatch(/disk +\/dev\/nvme0n1 · nvme · 4 GiB · serial KND-DEMO-DISK · empty/);
    expect(output).toMatch(/identity +[0-9a-f-]{36} · KND-DEMO-1/);
    expect(output).toContain('Where to look next');
    expect(readFileSync('build/demo-test.svg', 'utf8')).toContain('KND-DEMO-DISK');
    expect(readdirSync(demo.folder)).toEqual([]);
    rmSync('build/demo-test.svg');
  });

  it('ends cleanly at Ctrl-C in the middle', async () => {
    using demo = startDemo('--firmware', 'seabios');
    await demo.saw('✔ power on');
    const children = childrenOf(demo.child.pid ?? 0);
    expect(children.length).toBeGreaterThan(0);
    demo.child.kill('SIGINT');
    const [exitCode] = await once(demo.child, 'exit');
    expect(exitCode).toBe(130);
    expect(demo.output()).toContain('Stopped; nothing is left running.');
    const isGone = () => (children.some((pid) => existsSync(`/proc/${pid}`)) ? undefined : true);
    await waitFor(isGone, { name: 'the end of every child process', timeoutMs: 10_000 });
    expect(readdirSync(demo.folder)).toEqual([]);
  });
});

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
