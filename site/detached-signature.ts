import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '../initrd/build-tool.ts';
import type { SigningKey } from '../initrd/micro-os/sign-efi.ts';

/** A CMS signature (RFC 5652, DER) over these bytes, which are not in it: for firmware variables, and for iPXE's imgverify. */
export async function signDetached(
  bytes: Buffer,
  { key, certificate, chain }: SigningKey & { chain?: string | undefined },
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'kindling-cms-'));
  try {
    const [input, output] = [join(folder, 'bytes'), join(folder, 'signature')];
    await writeFile(input, bytes);
    const what = ['-binary', '-noattr', '-nosmimecap', '-md', 'sha256', '-in', input];
    const who = ['-signer', certificate, '-inkey', key, ...(chain ? ['-certfile', chain] : [])];
    await runTool('openssl', ['cms', '-sign', ...what, ...who, '-outform', 'DER', '-out', output]);
    return await readFile(output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
