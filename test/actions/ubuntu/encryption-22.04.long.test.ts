import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EncryptionLab } from '../encryption/encryption-lab.ts';
import { expectUnreadable, startWithRelease, up, upReport } from './encrypted-system.ts';

const LONG = 900_000;
let lab: EncryptionLab;

beforeAll(async () => {
  lab = await startWithRelease('22.04', '31G');
});
afterAll(() => lab?.[Symbol.asyncDispose]());

describe('full disk encryption of a mutable system, 22.04 without a partition for /boot', () => {
  it('makes the partition, and encrypts the rest', { timeout: LONG }, async () => {
    expect(await lab.encrypt()).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('is encrypted'),
    });
  });

  it('the installed system opens its volumes with the TPM', { timeout: LONG }, async () => {
    await lab.machine.powerCut();
    await lab.machine.powerOn({ kernel: undefined });
    expect(await upReport(lab.machine)).toEqual(up(2));
  });

  it('nothing readable is left on the disk', async () => {
    await expectUnreadable(lab.machine.disks[0], [
      '1 rootfs',
      '2 boot',
      '3 swap',
      '4 trusted_compute',
      '5 reserved',
      '6 persistent',
      '15 ESP',
    ]);
  });
});
