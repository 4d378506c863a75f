import { lstat, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { defineAction } from '../contract/action.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { placeFile } from '../target-root/place-file.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';
import { ENABLE_LINK, reportFiles } from './report-files.ts';

export const firstBootReport = defineAction({
  name: 'first-boot-report',
  aliases: [],
  summary: 'Makes the installed system tell the orchestrator when it is up, so that done means booted',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    FIRST_BOOT_URL: {
      type: 'url',
      required: true,
      secret: true,
      description: 'Where the installed system reports; the address is its credential',
    },
    DEST_DISK: {
      type: 'absolute-path',
      description: 'The root partition; without it that of the target disk',
    },
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
    TLS_CA_CERT: {
      type: 'text',
      description: 'PEM (or Base64 of it) of the CA that signed the orchestrator’s certificate',
    },
  },
  notes: [
    'Installs a systemd unit that runs after cloud-init has finished, posts JSON (`hostname`, `kernel`, `bootId`, `cloudInit`) with curl, wget, python3 or bash, whichever is there, tries again until it succeeds, and then removes itself.',
  ],
  async run(variables, context) {
    const target = await findTargetFilesystem(context, variables.DEST_DISK, variables.KINDLING_DISK);
    const pem = variables.TLS_CA_CERT;
    const files = reportFiles({
      url: variables.FIRST_BOOT_URL,
      caCertificate:
        pem === undefined || pem.includes('-----BEGIN') ? pem : Buffer.from(pem, 'base64').toString(),
    });
    if (context.isDryRun)
      return { summary: `would make the system on ${target.device} report its first boot` };
    const mounted = await mountFilesystem(context, target.device, {
      fsType: variables.FS_TYPE ?? target.fsType,
    });
    for (const file of files) await placeFile(mounted.target, file);
    await enable(mounted.target);
    await mounted.unmount();
    return {
      summary: `the system on ${target.device} will report its first boot`,
      data: { files: files.map((file) => file.path) },
    };
  },
});

async function enable(root: string): Promise<void> {
  const directory = await pathInRoot(root, path.dirname(ENABLE_LINK.path));
  await mkdir(directory, { recursive: true });
  const link = path.join(directory, path.basename(ENABLE_LINK.path));
  const isThere = await lstat(link).then(
    () => true,
    () => false,
  );
  if (!isThere) await symlink(ENABLE_LINK.target, link);
}
