import { expect, test } from 'vitest';
import { closestName } from '../../system/closest-name.ts';

test.each([
  ['nmve', ['sata', 'nvme'], 'nvme'],
  ['IMG_URLL', ['IMG_URL', 'DEST_DISK'], 'IMG_URL'],
  ['image-2-disk', ['image2disk', 'oci2disk'], 'image2disk'],
  ['kindling.sever', ['kindling.server', 'kindling.tls'], 'kindling.server'],
  ['dsk', ['disk', 'network'], 'disk'],
  ['swap', ['disk', 'network'], undefined],
  ['--', ['disk'], undefined],
  ['x', [], undefined],
])('%s, where %j are known, probably means %s', (name, known, meant) =>
  expect(closestName(name, known)).toBe(meant),
);
