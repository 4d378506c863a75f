import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { extendPcr15, unlockFiles } from '../../../actions/ubuntu/unlock-files.ts';

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

describe('what opens an encrypted system', () => {
  it('every volume is opened in the initramfs: afterwards the TPM keeps the key', () => {
    expect(contentsOf('crypttab').trim().split('\n').slice(1)).toEqual([
      'rootfs_crypt UUID=1111 none luks,initramfs,keyscript=/usr/local/lib/kindling/unlock',
      'swap_crypt UUID=2222 none luks,initramfs,keyscript=/usr/local/lib/kindling/unlock',
    ]);
  });

  it('its scripts are shell, and may be run', () => {
    const scripts = files.filter(({ contents }) => String(contents).startsWith('#!/bin/sh'));
    expect(scripts).toHaveLength(3);
    for (const { contents, mode } of scripts) {
      execFileSync('sh', ['-n'], { input: String(contents) });
      expect(mode).toBe(0o755);
    }
  });

  it('the key comes from the TPM without a line end, for the PCRs it was sealed to', () => {
    const tool = path.join(folder, 'tpm2-initramfs-tool');
    writeFileSync(tool, '#!/bin/sh\n[ "$1 $2 $3" = "unseal --pcrs 7,15" ] && echo 00ff\n');
    chmodSync(tool, 0o755);
    const script = path.join(folder, 'unlock');
    writeFileSync(script, contentsOf('unlock').replaceAll('/run/', `${folder}/`));
    const env = {
      PATH: `${folder}:${process.env['PATH']}`,
      CRYPTTAB_NAME: 'rootfs_crypt',
      CRYPTTAB_TRIED: '0',
    };
    expect(execFileSync('sh', [script], { env }).toString()).toBe('00ff');
  });

  it('the recovery key is asked for where the TPM keeps its own, or gave a wrong one, and is typed once', () => {
    const askpass = path.join(folder, 'askpass');
    writeFileSync(askpass, '#!/bin/sh\nprintf typed\n');
    chmodSync(askpass, 0o755);
    writeFileSync(path.join(folder, 'tpm2-initramfs-tool'), '#!/bin/sh\nexit 1\n');
    const script = path.join(folder, 'ask');
    const text = contentsOf('unlock')
      .replaceAll('/run/', `${folder}/`)
      .replaceAll('/lib/cryptsetup/askpass', askpass);
    writeFileSync(script, text);
    const run = (tried: string) =>
      execFileSync('sh', [script], {
        env: { PATH: `${folder}:${process.env['PATH']}`, CRYPTTAB_NAME: 'x', CRYPTTAB_TRIED: tried },
        stdio: ['ignore', 'pipe', 'ignore'],
      }).toString();
    expect(run('0')).toBe('typed');
    writeFileSync(askpass, '#!/bin/sh\nprintf "typed again"\n');
    expect(run('0')).toBe('typed'); // the next volume
    expect(run('1')).toBe('typed again'); // it did not open
  });

  it('the TPM is told to close in one command of its own', () => {
    const bytes = extendPcr15();
    expect(bytes.readUInt32BE(2)).toBe(bytes.length);
    const line = /printf '(.*)' >/.exec(contentsOf('init-bottom/kindling-encryption'))?.[1] ?? '';
    expect(execFileSync('sh', ['-c', `printf '${line}'`]).equals(bytes)).toBe(true);
  });
});
