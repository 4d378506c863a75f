/** The variable of EMF's actions that leave room for a volume group. */
export const LVM_SIZE_PARAMETER = {
  LVM_SIZE: {
    type: 'integer',
    default: 0,
    max: 1_000_000,
    description: 'GB for a volume group lvmvg on the same disk; 0 for none',
  },
} as const;
