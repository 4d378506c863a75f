import { defineAction } from '../contract/action.ts';
import { IMAGE_PARAMETERS } from './image-parameters.ts';
import { writeToTarget } from './write-to-target.ts';

export const image2disk = defineAction({
  name: 'image2disk',
  aliases: [],
  summary: 'Streams an operating-system image from a URL onto the target disk',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...IMAGE_PARAMETERS,
    COMPRESSED: {
      type: 'boolean',
      description:
        'Whether the image is compressed; not needed, the format is recognized by its first bytes, and a contradiction is an error',
    },
  },
  notes: [
    'Formats: raw, gz, bz2, xz, zst, qcow2, ISO, and chunked images with a manifest beside them; recognized by their first bytes, whatever the URL ends in.',
    'Nothing is bootable before it is verified: the first MiB is withheld until length and hash are right. A broken download is continued where it stopped.',
    'Without `DEST_DISK` and `KINDLING_DISK` the disk is chosen in EMF’s order (sd before nvme before the rest, the smaller first), but never a removable, USB, network or virtual disk and never the medium the Micro-OS was booted from. See [never the wrong disk](../explanation/never-the-wrong-disk.md).',
  ],
  run: (variables, context) => writeToTarget('image2disk', variables, context),
});

/** EMF and Tinkerbell have an action of its own for qcow2; here it is the same writer, which streams that format too. */
export const qemuimg2disk = defineAction({
  name: 'qemuimg2disk',
  aliases: ['qemu_nbd_image2disk', 'qemu-nbd-image2disk'],
  summary: 'Streams a qcow2 (or any other) image onto the target disk, without staging it in RAM',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...IMAGE_PARAMETERS,
    COMPRESSED: { type: 'boolean', description: 'Accepted; the format is recognized by its first bytes' },
    FORMAT: {
      type: 'text',
      description: 'Accepted; qemu-img’s name of the output format means nothing here',
    },
    EXTRA_ARGS: { type: 'text', description: 'Accepted and ignored: there is no qemu-img to pass them to' },
  },
  run: (variables, context) =>
    writeToTarget('qemuimg2disk', { ...variables, COMPRESSED: undefined }, context),
});

/** An installer ISO for a disk or stick: written as it is, which is what isohybrid images are made for. */
export const iso2disk = defineAction({
  name: 'iso2disk',
  aliases: [],
  summary: 'Writes a bootable (hybrid) ISO image onto the target disk',
  destroysData: true,
  mayRunAgain: true,
  parameters: IMAGE_PARAMETERS,
  run: (variables, context) => writeToTarget('iso2disk', variables, context),
});
