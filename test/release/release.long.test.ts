import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeKeyFiles } from '../../cli/key-files.ts';
import { readBuildStamp } from '../../initrd/executable/bundle.ts';
import { run } from '../../system/run.ts';

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-release-test-'));
  await makeKeyFiles(join(folder, 'key'));
  // two builds that share nothing: no cache, no folder
  for (const name of ['one', 'two'])
    await run(
      process.execPath,
      ['release/main.ts', '--output', join(folder, name), '--key', join(folder, 'key')],
      { env: { XDG_CACHE_HOME: join(folder, `${name}-cache`) } },
    );
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

it('two builds of one commit have equal bytes, down to the signature', async () => {
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async (name) => [
      await readFile(join(folder, name, 'SHA256SUMS'), 'utf8'),
      await readFile(join(folder, name, 'SHA256SUMS.sig'), 'utf8'),
    ]),
  );
  expect(one).toEqual(two);
});

it('the one-file program knows itself by the signed list, and not once it is changed', async () => {
  const { version } = await readBuildStamp([]);
  const program = join(folder, 'one', `kindling-${version}-linux-x64`);
  const verify = ['version', '--verify', '--key', join(folder, 'key.pub')];
  const { stdout } = await run(program, verify);
  expect(stdout).toContain(`verified: this file is kindling-${version}-linux-x64 of the release`);
  expect((await stat(program)).mode & 0o777).toBe(0o755);

  await run('sh', ['-c', 'printf x >> "$1"', 'sh', program]);
  const changed = await run(program, verify, { okExitCodes: [4] });
  expect(changed.stderr).toContain('KND_RELEASE_UNKNOWN_FILE');
});

it('lintian has nothing to say about the Debian package', async () => {
  const { version } = await readBuildStamp([]);
  const lintian = ['--profile', 'debian', '--allow-root', '--fail-on', 'error,warning'];
  const { stdout } = await run(
    'lintian',
    [...lintian, join(folder, 'two', `kindling_${version}_amd64.deb`)],
    {
      okExitCodes: [0, 2],
    },
  );
  expect(stdout).toBe('');
});
