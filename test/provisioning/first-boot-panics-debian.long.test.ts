import { it } from 'vitest';
import { ensureMutableTarget } from '../../lab/target-images/mutable.ts';
import { expectToFallBack, FALL_BACK_TIMEOUT_MS } from './falls-back.ts';

// With the smallest system that can be installed: first-boot-panics.qemu.test.ts
it(
  'a real Debian whose cloud-init makes its first boot panic falls back to the Micro-OS, which says why and does not write the disk again',
  async () => expectToFallBack(await ensureMutableTarget()),
  FALL_BACK_TIMEOUT_MS,
);
