/**
 * The keys of the kernel command line that bring-up reads, next to the network ones of dracut and Tinkerbell
 * (docs/reference/kernel-command-line.md). The agent's own settings are in agent/config/settings.ts.
 */
export const BOOT_KERNEL_KEYS = [
  'kindling.action',
  'kindling.bootmac',
  'kindling.debug',
  'kindling.medium',
  'kindling.net_timeout',
  'kindling.ntp',
  'kindling.on_failure',
  'kindling.site_key',
  'kindling.stick',
  'kindling.stick_key',
] as const;
/** `kindling.set.<VAR>` gives a variable to the one action of kindling.action. */
export const BOOT_KERNEL_PREFIXES = ['kindling.set.'] as const;
