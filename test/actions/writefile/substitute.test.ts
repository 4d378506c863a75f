import { expect, it } from 'vitest';
import { substitute } from '../../../actions/writefile/substitute.ts';

it('every $DEST_DISK and only the first $ID are replaced, and replacement patterns are taken literally', () => {
  expect(substitute('a $DEST_DISK$ID b $DEST_DISK $ID', '/dev/$&', 'p2')).toBe('a /dev/$&p2 b /dev/$& $ID');
});
