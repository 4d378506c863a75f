import { describe, expect, test } from 'vitest';
import { isSerial } from '../../../orchestrator-stub/nodes/serial.ts';

describe('a serial number', () => {
  test.each(['ABC12345', 'UEFI-384', 'CN/7016/234 X.1_a', 'A7', 'A7'.repeat(32)])(
    'is taken as firmware has it: %s',
    (text) => {
      expect(isSerial(text)).toBe(true);
    },
  );

  test.each([
    '',
    `${'A7'.repeat(32)}x`,
    ' ABC12345',
    'ABC12345 ',
    '-ABC12345',
    'a: b',
    'a #b',
    '{{.Hardware}}',
    '$(reboot)',
    'a\nb',
    'a\u0000b',
    '\u202Eabc',
    'ñandú1',
  ])('has nothing that means something elsewhere: %j', (text) => {
    expect(isSerial(text)).toBe(false);
  });

  test.each(['To be filled by O.E.M.', 'Default string', 'Not Specified', '00-00-00', 'N/A'])(
    'is not a placeholder that many machines share: %s',
    (text) => {
      expect(isSerial(text)).toBe(false);
    },
  );

  test('is EMF’s 5 to 20 letters and digits where the server is strict', () => {
    const strict = ['ABC12345', 'UEFI-384', 'A7', 'A7'.repeat(11)].filter((text) => isSerial(text, true));
    expect(strict).toEqual(['ABC12345']);
  });
});
