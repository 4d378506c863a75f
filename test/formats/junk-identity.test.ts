import { expect, test } from 'vitest';
import { whyJunkText, whyJunkUuid } from '../../formats/junk-identity.ts';
import fc from '../seeds/fast-check.ts';

test.each([
  '',
  '   ',
  'To be filled by O.E.M.',
  'To Be Filled By O.E.M',
  'Default string',
  'System Serial Number',
  'Not Specified',
  'None',
  'N/A',
  '0',
  '00000000',
  'xxxxxxxx',
  '..........',
  '123456789',
  '0123456789',
  '1234567890123456',
  'INVALID',
  'Chassis Serial Number',
])('“%s” is no serial number', (text) => expect(whyJunkText(text)).toBeDefined());

test.each(['CZC1234ABC', '7XK2Q13', 'VMware-56 4d 1b', 'PF-0ABCD', 'A1', 'HP', '1234-5678-A'])(
  '“%s” may be one',
  (text) => expect(whyJunkText(text)).toBeUndefined(),
);

test.each([
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '01000000-0000-0000-0000-000000000000',
  'Not Settable',
  '',
])('%s is no UUID to go by', (uuid) => expect(whyJunkUuid(uuid)).toBeDefined());

test('random UUIDs are good', () => {
  fc.assert(fc.property(fc.uuid({ version: 4 }), (uuid) => whyJunkUuid(uuid) === undefined));
});
