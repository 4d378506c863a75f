import { expect, test } from 'vitest';
import { parseDiskSelector } from '../../../actions/disks/disk-selector.ts';
import { diskSelector } from '../../../standalone/usb/stick-machines.ts';

test.each([
  [undefined, 'size>0'],
  [{ pick: 'only' as const }, 'size>0'],
  [{ serial: 'S5*', bus: 'nvme' as const }, 'serial=S5* bus=nvme'],
  [{ model: 'Samsung SSD*' }, 'model="Samsung SSD*"'],
  [{ minSizeGiB: 32, maxSizeGiB: 100, pick: 'smallest' as const }, 'size>=32Gi size<=100Gi smallest'],
  [{ link: '/dev/disk/by-id/nvme-X', rotational: false }, 'path=by-id/nvme-X ssd'],
])('%j is the selector %s, which the disk engine reads', (disk, text) => {
  expect(diskSelector(disk)).toBe(text);
  expect(() => parseDiskSelector(text)).not.toThrow();
});
