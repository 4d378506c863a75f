/** How a disk may be erased: a profile's eraseMethod, and ERASE_METHOD of the action. */
export const ERASE_METHODS = [
  'auto',
  'quick',
  'discard',
  'zeroes',
  'nvme-format',
  'nvme-crypto',
  'nvme-sanitize',
  'ata-secure-erase',
  'overwrite',
] as const;
