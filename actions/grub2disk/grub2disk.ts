import { defineAction } from '../contract/action.ts';
import { lineLogger } from '../contract/line-logger.ts';
import { chooseTargetDisk } from '../disks/choose-target.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { enterRoot } from '../target-root/enter-root.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';

export const grub2disk = defineAction({
  name: 'grub2disk',
  aliases: [],
  summary: 'Installs GRUB on a disk with the tools of the installed system',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    GRUB_INSTALL_PATH: {
      type: 'absolute-path',
      description: 'The root partition; without it that of the target disk',
    },
    GRUB_DISK: {
      type: 'absolute-path',
      description: 'The disk GRUB boots from; without it the one the root is on',
    },
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
  },
  async run(variables, context) {
    const target = await findTargetFilesystem(context, variables.GRUB_INSTALL_PATH, variables.KINDLING_DISK);
    const disk = variables.GRUB_DISK
      ? chooseTargetDisk(await context.machine.listDisks(), { device: variables.GRUB_DISK }).disk.path
      : (target.disk?.path ?? target.device);
    if (context.isDryRun) return { summary: `would install GRUB on ${disk}` };
    const mounted = await mountFilesystem(context, target.device, {
      fsType: variables.FS_TYPE ?? target.fsType,
    });
    const root = await enterRoot(context, mounted.target, { lendResolvConf: false });
    for (const command of [
      ['grub-install', disk],
      ['grub-mkconfig', '-o', '/boot/grub/grub.cfg'],
    ]) {
      const logger = lineLogger(context);
      await context
        .run('chroot', [mounted.target, ...command], {
          env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
          onOutput: logger.onOutput,
        })
        .finally(logger.end);
    }
    await root.leave();
    await mounted.unmount();
    return { summary: `installed GRUB on ${disk}` };
  },
});
