import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureMicroOs } from '../../../initrd/index.ts';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import { microOsKernel } from '../../../lab/qemu/micro-os.ts';
import { makeFolder, removeFolder } from '../../../lab/qemu/processes.ts';
import { encodePublicKey } from '../../../protocol/public-key.ts';
import { packConfigArchive } from '../../../site/config-archive.ts';

it('a BIOS machine, which has no Secure Boot, refuses another site’s config archive before it does anything else', async () => {
  const folder = makeFolder('archive');
  try {
    const archive = join(folder, 'config-archive.cpio');
    const key = () => generateKeyPairSync('ed25519').privateKey;
    const edition = { version: 1, expires: '2100-01-01T00:00:00.000Z' };
    const environment = { kindling_server: 'https://elsewhere.example' };
    writeFileSync(
      archive,
      packConfigArchive({ ca: 'a CA', environment, site: 'elsewhere', edition }, [key()]),
    );
    const kernel = await microOsKernel({
      cmdline: `kindling.site_key=${encodePublicKey(createPublicKey(key()))}`,
    });
    const { initramfs } = await ensureMicroOs('minimal');
    await using machine = await bootMachine({ kernel: { ...kernel, initrd: [initramfs, archive] } });
    const { line } = await machine.console.waitFor(/KINDLING-FATAL \{.*"uptime":[\d.]+\}/, {
      timeoutMs: 200_000,
    });
    expect(line).toContain('KND_ARCHIVE_FOREIGN');
  } finally {
    removeFolder(folder);
  }
});
