import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addEfiVariables, EFI_GLOBAL_GUID } from './efi-variables.ts';

const BLANK_STORE = '/usr/share/OVMF/OVMF_VARS_4M.fd';
const IMAGE_SECURITY_GUID = 'd719b2cb-3d3a-4596-a3bc-dad00e67656f';
const SECURE_BOOT_ENABLE_GUID = 'f0a30bc7-af08-4556-99c4-001009c93a44';
/** Non-volatile and boot service access; with run-time access and time-based authentication. */
const ATTRIBUTES = { plain: 0x03, authenticated: 0x27 } as const;

/**
 * Writes an OVMF variable store in which a site's PK, KEK, db and dbx are enrolled and Secure Boot is on, as a technician would
 * do it in the firmware's menu. `keysFolder` is "keys" of the site's boot files. For `efiVariables: { file }` of a machine.
 */
export function enrollSiteKeys(keysFolder: string, target: string): void {
  const list = (name: string) => readFileSync(join(keysFolder, `${name}.esl`));
  const revoked = existsSync(join(keysFolder, 'dbx.esl')) ? list('dbx') : undefined;
  const { plain, authenticated } = ATTRIBUTES;
  const store = addEfiVariables(readFileSync(BLANK_STORE), [
    { name: 'db', guid: IMAGE_SECURITY_GUID, attributes: authenticated, data: list('db') },
    ...(revoked
      ? [{ name: 'dbx', guid: IMAGE_SECURITY_GUID, attributes: authenticated, data: revoked }]
      : []),
    { name: 'KEK', guid: EFI_GLOBAL_GUID, attributes: authenticated, data: list('KEK') },
    { name: 'PK', guid: EFI_GLOBAL_GUID, attributes: authenticated, data: list('PK') },
    { name: 'SecureBootEnable', guid: SECURE_BOOT_ENABLE_GUID, attributes: plain, data: Buffer.from([1]) },
  ]);
  writeFileSync(target, store);
}
