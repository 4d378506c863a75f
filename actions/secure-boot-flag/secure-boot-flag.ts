import { writeFile } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';
import type { Firmware } from '../../protocol/inventory.ts';
import { defineAction } from '../contract/action.ts';

const FEATURES = [
  'SECURITY_FEATURE_UNSPECIFIED',
  'SECURITY_FEATURE_NONE',
  'SECURITY_FEATURE_SECURE_BOOT_AND_FULL_DISK_ENCRYPTION',
] as const;

export const secureBootFlag = defineAction({
  name: 'securebootflag',
  aliases: ['secure-boot-flag', 'secure_boot_flag_read'],
  summary: 'Checks that Secure Boot is on or off as the profile wants it, before anything is destroyed',
  destroysData: false,
  mayRunAgain: true,
  parameters: {
    SECURITY_FEATURE_FLAG: {
      type: 'choice',
      choices: FEATURES,
      default: 'SECURITY_FEATURE_UNSPECIFIED',
      description: 'What the profile wants; anything but SECURITY_FEATURE_NONE wants Secure Boot on',
    },
  },
  notes: [
    'The state comes from the firmware’s `SecureBoot` variable. The reference searches the kernel log for a sentence, in a race with the program that copies it.',
  ],
  async run({ SECURITY_FEATURE_FLAG }, context) {
    const state = await context.machine.secureBoot();
    const isMatch = secureBootMatches(state, SECURITY_FEATURE_FLAG);
    await showOnConsoles(`Secure Boot Status ${isMatch ? 'MATCH' : 'MISMATCH'}`);
    if (isMatch)
      return { summary: `Secure Boot is ${state}, as ${SECURITY_FEATURE_FLAG} wants it`, data: { state } };
    throw new KindlingError(
      'KND_SECURE_BOOT_MISMATCH',
      `Secure Boot is ${state}, but the profile says ${SECURITY_FEATURE_FLAG}`,
      { evidence: { state, wanted: SECURITY_FEATURE_FLAG } },
    );
  },
});

/** EMF's rule: UNSPECIFIED and SECURE_BOOT… want it on, NONE wants it off. A machine in set-up mode enforces nothing. */
export function secureBootMatches(state: Firmware['secureBoot'], flag: (typeof FEATURES)[number]): boolean {
  return (state === 'on') === (flag !== 'SECURITY_FEATURE_NONE');
}

/** EMF's virtual edge node looks for this line on the consoles. */
async function showOnConsoles(text: string): Promise<void> {
  await Promise.all(
    ['/dev/tty0', '/dev/ttyS0', '/dev/ttyS1'].map((console) =>
      writeFile(console, `${text}\r\n`, { flag: 'r+' }).catch(() => {}),
    ),
  );
}
