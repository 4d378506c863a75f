import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readBuildStamp } from '../../initrd/executable/bundle.ts';
import { buildDebianPackage } from '../../release/debian/debian-package.ts';
import { ensureKindling } from '../../release/kindling-executable.ts';
import { run } from '../../system/run.ts';

it('lintian has nothing to say about the Debian package', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-lintian-test-'));
  try {
    const name = await buildDebianPackage(await ensureKindling(), await readBuildStamp([]), folder);
    const lintian = ['--profile', 'debian', '--allow-root', '--fail-on', 'error,warning', join(folder, name)];
    const { stdout } = await run('lintian', lintian, { okExitCodes: [0, 2] });
    expect(stdout).toBe('');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
