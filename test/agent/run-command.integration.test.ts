import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

test('SIGTERM ends the agent: exit code 0 and no error', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindling-run-'));
  const main = new URL('../../agent/main.ts', import.meta.url).pathname;
  const agent = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      main,
      'run',
      ...['--worker-id', 'lab-7', '--grpc-authority', '127.0.0.1:1', '--tls', 'false'],
      ...['--state-folder', folder, '--credentials-folder', folder],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const lines: string[] = [];
  const exited = once(agent, 'exit');
  try {
    // The first line says that it is at work; nobody answers at its server.
    for await (const line of createInterface({ input: agent.stderr })) {
      lines.push(line);
      agent.kill('SIGTERM');
    }
    expect(await exited).toEqual([0, null]);
    expect(lines.join('\n')).not.toContain('KND_UNEXPECTED');
  } finally {
    agent.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }
});
