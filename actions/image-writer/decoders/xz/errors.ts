import { KindlingError } from '../../../../protocol/error.ts';

export const cutOff = () =>
  new KindlingError('KND_IMAGE_TRUNCATED', 'the image ends in the middle of its xz data');

export const damaged = (how: string) =>
  new KindlingError('KND_IMAGE_CORRUPT', `the image’s xz data is damaged: ${how}`);

export const wrongCheck = () => damaged('the check of a block is wrong');

export const unsupported = (what: string, hint: string) =>
  new KindlingError('KND_IMAGE_UNSUPPORTED', what, { hint });

export const dictionaryTooLarge = () =>
  unsupported(
    'the image was compressed with a larger xz dictionary than this machine has memory for',
    'Compress it with xz -9 or less; those need at most 65 MiB.',
  );
