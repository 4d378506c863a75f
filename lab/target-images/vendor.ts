import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached } from '../../initrd/build-cache.ts';
import { runTool } from '../../initrd/build-tool.ts';
import { resolvePackages, unpackPackage } from '../../initrd/debian/packages.ts';
import type { SigningKey } from '../../initrd/micro-os/sign-efi.ts';
import { issueCertificate } from '../../site/issue-certificate.ts';
import { EPOCH_SECONDS } from './debian-root.ts';

const SUBJECT = 'CN=Kindling target images, O=Kindling lab';
const DAYS = 3650;

/**
 * The maker of a system signs what firmware starts of it, as Debian and Canonical do through Microsoft. The site that installs it has
 * this certificate enrolled beside its own. The key is made once and stays in the cache.
 */
export async function ensureVendorKey(): Promise<SigningKey> {
  const folder = await cached('target-vendor', { SUBJECT, DAYS }, async (target) => {
    const { certificate, key } = await issueCertificate({
      subject: SUBJECT,
      days: DAYS,
      keyBits: 2048, // what every firmware can verify
      purpose: 'firmware',
    });
    await writeFile(join(target, 'vendor.key'), key, { mode: 0o600 });
    await writeFile(join(target, 'vendor.crt'), certificate);
  });
  return { key: join(folder, 'vendor.key'), certificate: join(folder, 'vendor.crt') };
}

/** Puts the vendor's signature into the EFI program, always the same one: a signature holds its time, so sbsign is shown the image's. */
export async function signAsVendor(program: string, { key, certificate }: SigningKey): Promise<void> {
  const [faketime] = await resolvePackages(['libfaketime']);
  if (!faketime) throw new Error('resolvePackages gives what it is asked for');
  const library = join(await unpackPackage(faketime), 'usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1');
  await runTool('env', [
    ...[`LD_PRELOAD=${library}`, 'FAKETIME_FMT=%s', `FAKETIME=${EPOCH_SECONDS}`],
    ...['sbsign', '--key', key, '--cert', certificate, '--output', program, program],
  ]);
  await utimes(program, EPOCH_SECONDS, EPOCH_SECONDS);
}
