import { describe, expect, it } from 'vitest';
import { redact } from '../../net/redact.ts';

describe('an address in a message', () => {
  it('has no login and no query, but says that there was a query', () => {
    expect(redact('https://user:secret@images.test:8443/disk.zst?X-Amz-Signature=key#x')).toBe(
      'https://images.test:8443/disk.zst?…',
    );
    expect(redact('http://images.test/disk.zst')).toBe('http://images.test/disk.zst');
  });

  it.each(['user:secret@images', 'ftp://user:secret@images/', 'http://:::secret', '', 'secret'])(
    'of another kind is not repeated, and no error: %s',
    (address) => expect(redact(address)).toBe('the address'),
  );
});
