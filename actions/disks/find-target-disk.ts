import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext } from '../contract/action.ts';
import { chooseTargetDisk } from './choose-target.ts';
import { recallTarget } from './target-memory.ts';

/** The variable that says which disk an action works on, when the one the image was just written to is not meant. */
export const SELECTOR_PARAMETER = {
  KINDLING_DISK: {
    type: 'text',
    description:
      'A disk selector (see image2disk); without it the disk the image was written to. Needed after a restart where image2disk had one',
  },
} as const;

/** For actions that work in the root file system of what was installed. */
export const ROOT_PARTITION_PARAMETERS = {
  ...SELECTOR_PARAMETER,
  DEST_DISK: {
    type: 'absolute-path',
    description: 'The root partition; without it that of the target disk',
  },
} as const;

/** The disk that is named, else the one that is selected, else the one this workflow wrote to, else the one the policy picks. */
export async function findTargetDisk(
  context: Pick<ActionContext, 'machine'>,
  request: { device?: string | undefined; selector?: string | undefined },
): Promise<{ disk: Disk; disks: Disk[] }> {
  const disks = await context.machine.listDisks();
  const isAsked = request.device !== undefined || request.selector !== undefined;
  const disk = isAsked ? undefined : await recallTarget(disks);
  return { disk: disk ?? chooseTargetDisk(disks, request).disk, disks };
}
