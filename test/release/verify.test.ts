import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeKeyFiles } from '../../cli/key-files.ts';
import { verifyFile } from '../../cli/version.ts';
import { writeChecksums } from '../../release/sign-checksums.ts';
import { run } from '../../system/run.ts';

let folder = '';
const read = (name: string) => readFile(join(folder, 'dist', name), 'utf8');

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-sums-test-'));
  await run('mkdir', [join(folder, 'dist')]);
  await writeFile(join(folder, 'dist/kindling-1.0.0-linux-x64'), 'a program');
  await writeFile(join(folder, 'dist/other'), 'something else');
  await makeKeyFiles(join(folder, 'key'));
  await writeChecksums(join(folder, 'dist'), join(folder, 'key'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function released() {
  return {
    file: Buffer.from('a program'),
    sums: await read('SHA256SUMS'),
    signature: await read('SHA256SUMS.sig'),
    publicKey: await readFile(join(folder, 'key.pub'), 'utf8'),
  };
}

describe('the signed list of a release', () => {
  it('names the file that was released', async () => {
    expect(verifyFile(await released())).toBe('kindling-1.0.0-linux-x64');
  });

  it('does not know a file that was changed', async () => {
    const changed = { ...(await released()), file: Buffer.from('a Program') };
    expect(() => verifyFile(changed)).toThrow(expect.objectContaining({ code: 'KND_RELEASE_UNKNOWN_FILE' }));
  });

  it('is not believed with a line more, or by another key', async () => {
    const good = await released();
    const longer = { ...good, sums: `${good.sums}${'0'.repeat(64)}  more\n` };
    const { publicKey } = generateKeyPairSync('ed25519');
    const other = { ...good, publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
    for (const wrong of [longer, other, { ...good, signature: '' }])
      expect(() => verifyFile(wrong)).toThrow(expect.objectContaining({ code: 'KND_RELEASE_SIGNATURE' }));
  });

  it('is read by sha256sum and openssl too', async () => {
    const sums = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: join(folder, 'dist') });
    expect(sums.stdout).toBe('kindling-1.0.0-linux-x64: OK\nother: OK\n');
    const signature = join(folder, 'signature');
    await writeFile(signature, Buffer.from(await read('SHA256SUMS.sig'), 'base64'));
    const verify = ['pkeyutl', '-verify', '-pubin', '-inkey', join(folder, 'key.pub'), '-rawin'];
    const list = ['-in', join(folder, 'dist/SHA256SUMS'), '-sigfile', signature];
    expect((await run('openssl', [...verify, ...list])).stdout).toContain('Signature Verified Successfully');
  });
});
