import { createPublicKey, sign } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readPrivateKey } from '../cli/key-files.ts';
import { formatChecksums } from '../formats/checksum-list.ts';
import { hashOfFile } from '../initrd/build-cache.ts';

/**
 * SHA256SUMS of every file in the folder; with a key also SHA256SUMS.sig (Ed25519, base64, as `kindling image sign` writes it)
 * and the public half of the key, for people who have it from elsewhere and compare.
 */
export async function writeChecksums(folder: string, keyFile: string | undefined): Promise<void> {
  const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
  const files = await Promise.all(
    names.map(async ({ name }) => ({ name, sha256: await hashOfFile(join(folder, name)) })),
  );
  const list = formatChecksums(files);
  await writeFile(join(folder, 'SHA256SUMS'), list);
  if (keyFile === undefined) return;
  const key = await readPrivateKey(keyFile);
  await writeFile(
    join(folder, 'SHA256SUMS.sig'),
    `${sign(null, Buffer.from(list), key).toString('base64')}\n`,
  );
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' });
  await writeFile(join(folder, 'kindling-release.pub'), publicKey);
}
