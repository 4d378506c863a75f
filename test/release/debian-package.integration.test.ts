import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBuildStamp } from '../../initrd/executable/bundle.ts';
import { buildDebianPackage } from '../../release/debian/debian-package.ts';
import { ensureKindling } from '../../release/kindling-executable.ts';
import { runInDebianCopy } from './debian-system.ts';

let folder = '';
let name = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-debian-test-'));
  name = await buildDebianPackage(await ensureKindling(), await readBuildStamp([]), folder);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the Debian package', () => {
  it('installs, upgrades, is removed and purged: user and state come and go', async () => {
    const { stdout, stderr } = await runInDebianCopy(
      folder,
      `
dpkg --force-unsafe-io --install /out/${name} >/dev/null
echo "version: $(kindling version | head -n 1)"
echo "user: $(getent passwd kindling | cut -d: -f 1,6)"
echo "state: $(stat -c '%U %a' /var/lib/kindling)"
systemd-analyze verify /lib/systemd/system/kindling*.service 2>&1 | grep kindling || echo "units: good"
man --warnings -l /usr/share/man/man1/kindling-serve.1.gz 2>&1 >/dev/null | grep . || echo "man: good"
su -s /bin/sh kindling -c 'kindling serve --config /etc/kindling/kindling.yaml --port many' 2>&1 | head -n 1
touch /var/lib/kindling/site.db
echo "log: debug" >> /etc/kindling/kindling.yaml
dpkg --force-unsafe-io --install /out/${name} >/dev/null
tail -n 1 /etc/kindling/kindling.yaml
dpkg --remove kindling >/dev/null
echo "removed: $(ls /etc/kindling/kindling.yaml /var/lib/kindling/site.db)"
dpkg --purge kindling >/dev/null
ls -d /etc/kindling /var/lib/kindling /usr/bin/kindling 2>&1 | grep -c 'No such file'
getent passwd kindling || echo "user: gone"
`,
    );
    expect(stderr).not.toMatch(/^dpkg/m);
    expect(stdout.replace(/\d+\.\d+\.\d+ \([0-9a-f]{9}\)/, 'VERSION')).toBe(`version: kindling VERSION
user: kindling:/var/lib/kindling
state: kindling 700
units: good
man: good
KND_USAGE: many is not a port
log: debug
removed: /etc/kindling/kindling.yaml
/var/lib/kindling/site.db
3
user: gone
`);
  });
});
