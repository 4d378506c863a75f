import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encodeCpio } from '../../formats/cpio.ts';
import { KindlingError } from '../../protocol/error.ts';
import { defineAction } from '../contract/action.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import type { LedgerEntry } from '../resources/ledger.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';
import { type BootEntry, firstGrubEntry } from './grub-config.ts';

/**
 * An initramfs with nothing in it. A kernel that is given none looks for one in the firmware's tables, where the address of the Micro-OS's still
 * stands though its memory has long been used for other things, and panics (drivers/firmware/efi/efi.c, LINUX_EFI_INITRD_MEDIA_GUID).
 */
const EMPTY_ARCHIVE = encodeCpio([]);

export const kexec = defineAction({
  name: 'kexec',
  aliases: [],
  summary: 'Starts the installed kernel without going through the firmware, once the server knows',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    BLOCK_DEVICE: {
      type: 'absolute-path',
      description: 'The partition with the kernel; without it the root partition of the target disk',
    },
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
    KERNEL_PATH: { type: 'text', description: 'Kernel on it; without it the first entry of grub.cfg' },
    INITRD_PATH: {
      type: 'text',
      description: 'Initramfs on it; several separated by commas or blanks are joined',
    },
    CMD_LINE: { type: 'text', description: 'Kernel command line; without it that of grub.cfg' },
    GRUBCFG_PATH: { type: 'text', default: 'boot/grub/grub.cfg', description: 'Where grub.cfg is' },
  },
  notes: [
    'The kernel is loaded by the action and started by the agent when the server has acknowledged its success: there is no race with the report.',
  ],
  async run(variables, context) {
    const target = await findTargetFilesystem(context, variables.BLOCK_DEVICE, variables.KINDLING_DISK);
    const mounted = await mountFilesystem(context, target.device, {
      fsType: variables.FS_TYPE ?? target.fsType,
      isReadOnly: true,
    });
    const inTarget = (file: string) => pathInRoot(mounted.target, `/${file}`);
    const grub = await readFile(await inTarget(variables.GRUBCFG_PATH), 'utf8').catch(() => '');
    const entry: BootEntry = {
      ...(firstGrubEntry(grub) ?? { kernel: '', initrds: [], commandLine: '' }),
      ...(variables.KERNEL_PATH ? { kernel: variables.KERNEL_PATH, initrds: [] } : {}),
      ...(variables.INITRD_PATH ? { initrds: variables.INITRD_PATH.split(/[\s,]+/).filter(Boolean) } : {}),
      ...(variables.CMD_LINE ? { commandLine: variables.CMD_LINE } : {}),
    };
    const kernel = entry.kernel === '' ? '' : await inTarget(entry.kernel);
    if (kernel === '' || !(await isFile(kernel))) {
      throw new KindlingError(
        'KND_KERNEL_NONE',
        `${target.device} has no kernel ${entry.kernel || `(no KERNEL_PATH, and ${variables.GRUBCFG_PATH} names none)`}`,
      );
    }
    const initrds = await Promise.all(entry.initrds.map(inTarget));
    for (const [index, file] of initrds.entries()) {
      if (!(await isFile(file)))
        throw new KindlingError(
          'KND_KERNEL_NONE',
          `${target.device} has no initramfs ${entry.initrds[index]}`,
        );
    }
    const summary = `${entry.kernel} with ${entry.initrds.join(', ') || 'no initramfs'} and "${entry.commandLine}"`;
    if (context.isDryRun) return { summary: `would start ${summary}` };
    // In memory, and as large as a kernel with its initramfs: a kill must not leave it there.
    const folder = await mkdtemp(path.join(tmpdir(), 'kindling-kexec-'));
    const held: LedgerEntry = { kind: 'folder', path: folder };
    await context.resources.take(
      held,
      async () => {},
      () => rm(folder, { recursive: true, force: true }),
    );
    const initrd = path.join(folder, 'initrd');
    await joinFiles(initrds, initrd);
    if (entry.initrds.length === 0) await writeFile(initrd, EMPTY_ARCHIVE);
    await copyFile(kernel, path.join(folder, 'kernel'));
    await mounted.unmount();
    // -a: the system call that lets the kernel check the image and pass on what it got from the firmware; the older one where it is missing.
    await context.run('kexec', [
      '-a',
      '-l',
      path.join(folder, 'kernel'),
      `--initrd=${initrd}`,
      `--command-line=${entry.commandLine}`,
    ]);
    await context.resources.release(held);
    return { summary: `loaded ${summary}`, handOver: { kind: 'kexec' } };
  },
});

function isFile(file: string): Promise<boolean> {
  return stat(file).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function joinFiles(files: readonly string[], joined: string): Promise<void> {
  await writeFile(joined, '');
  for (const file of files) await writeFile(joined, await readFile(file), { flag: 'a' });
}
