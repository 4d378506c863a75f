import { expect, test } from 'vitest';
import { formatBytes } from '../../system/format-bytes.ts';

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1 KiB'],
  [500_107_862_016, '465.8 GiB'],
  [1.5 * 2 ** 40, '1.5 TiB'],
  [2 ** 60, '1024 PiB'],
])('%i bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
