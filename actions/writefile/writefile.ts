import { defineAction } from '../contract/action.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { placeFile } from '../target-root/place-file.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';
import { isSubstituted, substitute } from './substitute.ts';

export const writefile = defineAction({
  name: 'writefile',
  aliases: [],
  summary: 'Writes one file into a file system of the target disk',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    DEST_DISK: {
      type: 'absolute-path',
      description:
        'The partition (/dev/sda2, /dev/disk/by-id/…-part2); without it the root partition of the target disk',
    },
    FS_TYPE: { type: 'text', description: 'File system type; without it what is found there' },
    DEST_PATH: {
      type: 'absolute-path',
      required: true,
      description: 'The file, as the installed system will see it',
    },
    CONTENTS: { type: 'text', required: true, description: 'What the file holds; may be empty' },
    UID: {
      type: 'integer',
      default: 0,
      max: 0xffff_fffe,
      description: 'Owner of the file and of directories it needs',
    },
    GID: {
      type: 'integer',
      default: 0,
      max: 0xffff_fffe,
      description: 'Group of the file and of directories it needs',
    },
    MODE: { type: 'octal', default: 0o644, description: 'Mode of the file' },
    DIRMODE: { type: 'octal', default: 0o755, description: 'Mode of directories that have to be made' },
  },
  notes: [
    'In `CONTENTS` every `$DEST_DISK` becomes the path of the disk and the first `$ID` what follows it in the partition’s name (`p2`, `2`), as in EMF. Under the name of Tinkerbell’s image (`quay.io/tinkerbell/actions/writefile`) the contents are written as they are, as there.',
    'Better than the reference: symbolic links are followed inside the target (an absolute link cannot lead into the Micro-OS), the file is replaced in one step, and a file that was there gets the new mode too.',
  ],
  async run(variables, context) {
    const target = await findTargetFilesystem(context, variables.DEST_DISK, variables.KINDLING_DISK);
    const fsType = variables.FS_TYPE ?? target.fsType;
    if (context.isDryRun) {
      return {
        summary: `would write ${variables.DEST_PATH} on ${target.device} (${fsType ?? 'unknown file system'})`,
      };
    }
    const mounted = await mountFilesystem(context, target.device, { fsType });
    const contents = isSubstituted(context.image ?? '')
      ? substitute(variables.CONTENTS, target.disk?.path ?? target.device, target.suffix)
      : variables.CONTENTS;
    await placeFile(mounted.target, {
      path: variables.DEST_PATH,
      contents,
      mode: variables.MODE,
      directoryMode: variables.DIRMODE,
      uid: variables.UID,
      gid: variables.GID,
    });
    await mounted.unmount();
    return {
      summary: `wrote ${variables.DEST_PATH} (${Buffer.byteLength(contents)} bytes) on ${target.device}`,
      data: { device: target.device, path: variables.DEST_PATH },
    };
  },
});
