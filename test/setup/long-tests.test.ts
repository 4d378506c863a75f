import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  besideBusyProcesses,
  longTestEnvironment,
  seededTestFiles,
  usualProjects,
} from '../../setup/long-tests.ts';
import { run } from '../../system/run.ts';

const root = join(import.meta.dirname, '../..');

describe('npm run test:long', () => {
  it('runs what takes a seed: the kill matrix and the fuzzers, no virtual machines', () => {
    const files = seededTestFiles(root);
    expect(files).toEqual(
      expect.arrayContaining([
        'test/actions/image-writer/kill-matrix.integration.test.ts',
        'test/protocol/dhcp/packet.test.ts',
        'test/standalone/config/validate.test.ts',
      ]),
    );
    expect(files).not.toContain('test/actions/image-writer/image-writer.qemu.test.ts');
    expect(files).not.toContain('test/setup/long-tests.test.ts');
  });

  it('has files of its own, which npm test leaves out: each is a second form of one that it runs', () => {
    const own = globSync('test/**/*.long.test.ts', { cwd: root });
    const page = readFileSync(join(root, 'docs/how-to/run-the-tests.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(\S+\.long\.test\.ts)`/gm)].map(([, file]) => `test/${file}`);
    expect(rows.sort()).toEqual(own.sort());
    expect(usualProjects([])).not.toContain('long');
    expect(usualProjects(['--project', 'qemu'])).toEqual([]);
  });

  it('has a new seed each time, and takes the seed and the scale that are given', () => {
    expect(longTestEnvironment({})['KINDLING_TEST_SEED']).not.toBe(
      longTestEnvironment({})['KINDLING_TEST_SEED'],
    );
    const given = { KINDLING_TEST_SEED: '5', KINDLING_TEST_SCALE: '2' };
    expect(longTestEnvironment(given)).toEqual(given);
  });

  it('is beside eight busy processes, and ends them', async () => {
    const busy = () =>
      run('pgrep', ['-c', '-P', String(process.pid), 'sh'], { okExitCodes: [0, 1] }).then(({ stdout }) =>
        Number(stdout),
      );
    const before = await busy();
    expect(await besideBusyProcesses(busy)).toBe(before + 8);
    await expect.poll(busy).toBe(before);
  });
});
