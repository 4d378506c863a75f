import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const CLI = join(import.meta.dirname, '../../cli/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'kindling-ipxe-test-'));
const source = join(folder, 'ipxe');
const output = join(folder, 'output');
const record = join(folder, 'record');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** iPXE's own source is in no registry: a tree of its shape, and a make that notes what it was asked for. */
beforeAll(() => {
  mkdirSync(join(source, 'src/config'), { recursive: true });
  writeFileSync(join(source, 'src/Makefile'), '');
  writeFileSync(join(source, 'src/config/general.h'), '');
  mkdirSync(join(folder, 'bin'));
  mkdirSync(record);
  writeFileSync(
    join(folder, 'bin/make'),
    `#!/bin/sh
set -e
[ ! -e fail ] || { echo 'cc: the compiler says no' >&2; exit 2; }
printf '%s\\n' "$@" >${record}/arguments
cp config/local/general.h ${record}/
for word; do case $word in
  bin-*) mkdir -p "\${word%/*}"; echo "$word" >"$word" ;;
  CERT=*) cp "\${word#*=}" ${record}/certificates ;;
  EMBED=*) cp "\${word#*=}" ${record}/script ;;
esac; done
`,
    { mode: 0o755 },
  );
});

const build = (...args: string[]) =>
  execa(process.execPath, [CLI, 'build', 'ipxe', '--state', join(folder, 'state'), '-o', output, ...args], {
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
    reject: false,
  });

describe('kindling build ipxe', () => {
  it('builds every flavor with the site’s CA, our script and image trust', async () => {
    const { stdout, stderr } = await build('--source', source, '--url', 'https://site.example/tink-stack/');
    expect(stderr).not.toContain('KND_');
    expect(stdout).toContain('kindling build site --ipxe');
    for (const name of ['ipxe.efi', 'snponly.efi', 'undionly.kpxe'])
      expect(existsSync(join(output, name))).toBe(true);

    const args = readFileSync(join(record, 'arguments'), 'utf8').trim().split('\n');
    expect(args.filter((one) => one.startsWith('bin-'))).toEqual([
      'bin-x86_64-efi/ipxe.efi',
      'bin-x86_64-efi/snponly.efi',
      'bin-x86_64-pcbios/undionly.kpxe',
    ]);
    const of = (key: string) => args.find((one) => one.startsWith(`${key}=`))?.slice(key.length + 1);
    expect(of('TRUST')).toBe(of('CERT'));
    expect(readFileSync(join(record, 'certificates'), 'utf8')).toBe(
      readFileSync(join(folder, 'state/site-ca.crt'), 'utf8'),
    );
    const header = readFileSync(join(record, 'general.h'), 'utf8');
    for (const name of ['DOWNLOAD_PROTO_HTTPS', 'IMAGE_TRUST_CMD', 'REBOOT_CMD'])
      expect(header).toContain(`#undef ${name}\n#define ${name}\n`);
    expect(header).toContain('#define LINK_WAIT_TIMEOUT 8000\n');
    const script = readFileSync(join(record, 'script'), 'utf8');
    expect(script).toContain('set image_trust 1\n');
    expect(script).toContain('set boot_url https://site.example/tink-stack/boot.ipxe\n');
    expect(existsSync(join(source, 'src/config/local'))).toBe(false);
  });

  it('says clearly that it needs a source tree, and what a folder lacks to be one', async () => {
    const without = await build('--url', 'https://site.example/tink-stack');
    expect(without.exitCode).toBe(2);
    expect(without.stderr).toContain('KND_IPXE_SOURCE: kindling build ipxe needs --source');
    const wrong = await build('--source', folder, '--url', 'https://site.example/tink-stack');
    expect(wrong.stderr).toContain('is no iPXE source tree: it has no src/Makefile');
  });

  it('passes on what the compiler says', async () => {
    writeFileSync(join(source, 'src/fail'), '');
    const { stderr, exitCode } = await build('--source', source, '--url', 'https://site.example/tink-stack');
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('cc: the compiler says no');
    rmSync(join(source, 'src/fail'));
  });
});
