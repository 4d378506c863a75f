import { expect, it } from 'vitest';
import { secureBootMatches } from '../../../actions/secure-boot-flag/secure-boot-flag.ts';

const NONE = 'SECURITY_FEATURE_NONE';
const FULL = 'SECURITY_FEATURE_SECURE_BOOT_AND_FULL_DISK_ENCRYPTION';
const UNSPECIFIED = 'SECURITY_FEATURE_UNSPECIFIED';

it.each([
  ['on', FULL, true],
  ['on', UNSPECIFIED, true],
  ['on', NONE, false],
  ['off', FULL, false],
  ['off', UNSPECIFIED, false],
  ['off', NONE, true],
  ['setup-mode', FULL, false],
  ['setup-mode', NONE, true],
  ['unsupported', NONE, true],
] as const)('Secure Boot %s and %s: match is %s', (state, flag, isMatch) => {
  expect(secureBootMatches(state, flag)).toBe(isMatch);
});
