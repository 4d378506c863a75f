import type { Firmware, MachineSpec } from './machine-spec.ts';

/** Where the Debian package `ovmf` puts UEFI firmware and the variable stores it starts with. */
export const OVMF_CODE: Record<Exclude<Firmware, 'seabios'>, string> = {
  ovmf: '/usr/share/OVMF/OVMF_CODE_4M.fd',
  'ovmf-secure-boot': '/usr/share/OVMF/OVMF_CODE_4M.secboot.fd',
};

const EFI_VARIABLES = {
  blank: '/usr/share/OVMF/OVMF_VARS_4M.fd',
  snakeoil: '/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd',
  microsoft: '/usr/share/OVMF/OVMF_VARS_4M.ms.fd',
} as const;

/** The variable store a machine starts with. Secure Boot is on only where keys are enrolled: `snakeoil` by default. */
export function efiVariableTemplate(spec: MachineSpec): string {
  const wish = spec.efiVariables ?? (spec.firmware === 'ovmf-secure-boot' ? 'snakeoil' : 'blank');
  return typeof wish === 'object' ? wish.file : EFI_VARIABLES[wish];
}
