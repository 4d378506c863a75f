import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';

/** OVMF's own test key, which is enrolled in the variable store "snakeoil", as PEM files without a passphrase. */
export async function snakeoilKeys(folder: string): Promise<{ key: string; certificate: string }> {
  const ovmf = '/usr/share/ovmf/PkKek-1-snakeoil';
  const keys = { key: join(folder, 'db.key'), certificate: join(folder, 'db.pem') };
  await execa('openssl', ['rsa', '-in', `${ovmf}.key`, '-passin', 'pass:snakeoil', '-out', keys.key]);
  cpSync(`${ovmf}.pem`, keys.certificate);
  return keys;
}
