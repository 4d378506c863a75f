import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { extendPcr15, sealFiles, unlockFiles } from '../../../actions/ubuntu/unlock-files.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'kindling-unlock-'));
afterAll(() => rmSync(folder, { recursive: true }));
const files = unlockFiles(
  [
    { name: 'rootfs_crypt', luksUuid: '1111' },
    { name: 'swap_crypt', luksUuid: '2222' },
  ],
  '7,15',
);
const contentsOf = (end: string) => String(files.find((file) => file.path.endsWith(end))?.contents);
const program = (name: string, text: string) =>
  writeFileSync(path.join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });

/** As the initramfs runs it, with other places and programs. */
function unlock(tried: string, from = files): string {
  mkdirSync(path.join(folder, 'kindling'), { recursive: true });
  for (const name of ['unlock', 'tpm-policy.sh', 'first-pcrs']) {
    const file = from.find((each) => each.path.endsWith(`kindling/${name}`));
    const text = String(file?.contents)
      .replaceAll('/run/', `${folder}/`)
      .replaceAll('/usr/local/lib/', `${folder}/`)
      .replaceAll('/lib/cryptsetup/', `${folder}/`);
    writeFileSync(path.join(folder, 'kindling', name), text);
  }
  return execFileSync('sh', [path.join(folder, 'kindling/unlock')], {
    env: {
      PATH: `${folder}:${process.env['PATH']}`,
      CRYPTTAB_NAME: 'x',
      CRYPTTAB_SOURCE: '/dev/null',
      CRYPTTAB_TRIED: tried,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  }).toString();
}

describe('what opens an encrypted system', () => {
  it('every volume is opened in the initramfs: afterwards the TPM keeps the key', () => {
    expect(contentsOf('crypttab').trim().split('\n').slice(1)).toEqual([
      'rootfs_crypt UUID=1111 none luks,initramfs,keyscript=/usr/local/lib/kindling/unlock',
      'swap_crypt UUID=2222 none luks,initramfs,keyscript=/usr/local/lib/kindling/unlock',
    ]);
  });

  it('its scripts are shell, and may be run', () => {
    const scripts = [...files, ...sealFiles('15', 'key')].filter(
      ({ contents, path }) => String(contents).startsWith('#!/bin/sh') && !path.endsWith('.sh'),
    );
    expect(scripts).toHaveLength(8);
    for (const { contents, mode } of scripts) {
      execFileSync('sh', ['-n'], { input: String(contents) });
      expect(mode).toBe(0o755);
    }
  });

  it('the key is in the system that seals it, for its administrator alone', () => {
    expect(sealFiles('15', '00ff').find(({ contents }) => contents === '00ff')).toMatchObject({
      path: '/etc/kindling/disk.key',
      mode: 0o400,
    });
  });

  // From the first boot on: measured-boot/measured-boot.integration.test.ts
  it.each([
    ['a system that keeps the first seal', files],
    ['one that seals to what it boots', sealFiles('7,15', '00ff')],
  ])('the first key comes from the TPM without a line end, for the PCRs it was sealed to: %s', (_, from) => {
    program('tpm2-initramfs-tool', '[ "$1 $2 $3" = "unseal --pcrs 7,15" ] && echo 00ff');
    expect(unlock('0', from)).toBe('00ff');
    rmSync(path.join(folder, 'kindling-disk-key'), { force: true });
  });

  it('the recovery key is asked for where the TPM keeps its own, or gave a wrong one, and is typed once', () => {
    program('askpass', 'printf typed');
    program('tpm2-initramfs-tool', 'exit 1');
    expect(unlock('0')).toBe('typed');
    program('askpass', 'printf "typed again"');
    expect(unlock('0')).toBe('typed'); // the next volume
    expect(unlock('1')).toBe('typed again'); // it did not open
  });

  it('the TPM is told to close in one command of its own', () => {
    const bytes = extendPcr15();
    expect(bytes.readUInt32BE(2)).toBe(bytes.length);
    const line = /printf '(.*)' >/.exec(contentsOf('init-bottom/kindling-encryption'))?.[1] ?? '';
    expect(execFileSync('sh', ['-c', `printf '${line}'`]).equals(bytes)).toBe(true);
  });
});
