import { expect, it } from 'vitest';
import { isSubstituted, substitute } from '../../../actions/writefile/substitute.ts';

it('every $DEST_DISK and only the first $ID are replaced, and replacement patterns are taken literally', () => {
  expect(substitute('a $DEST_DISK$ID b $DEST_DISK $ID', '/dev/$&', 'p2')).toBe('a /dev/$&p2 b /dev/$& $ID');
});

it.each([
  ['writefile', true],
  ['registry.example/edge-orch/en/files/writefile:1.2', true],
  ['localhost:5000/writefile@sha256:00', true],
  ['quay.io/tinkerbell/actions/writefile:latest', false],
  ['quay.io/tinkerbell-actions/writefile:v1.0.0', false],
  ['mirror.example/tinkerbell/actions/writefile', false],
])('the contents under %s are a template: %s', (image, expected) => {
  expect(isSubstituted(image)).toBe(expected);
});
