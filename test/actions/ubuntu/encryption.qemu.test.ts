import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import type { EncryptionLab } from '../encryption/encryption-lab.ts';
import { expectUnreadable, startWithRelease, up, upReport } from './encrypted-system.ts';

const LONG = 900_000;
let lab: EncryptionLab;

beforeAll(async () => {
  lab = await startWithRelease('24.04', '26G');
});
afterAll(() => lab?.[Symbol.asyncDispose]());

const keyIds = () => [...new Set(lab.escrowed.map(({ keyId }) => keyId))];

// 22.04 has no partition for /boot: encryption-22.04.long.test.ts
describe('full disk encryption of a mutable system, 24.04 around the /boot it has', () => {
  it('is hit by a power cut in the middle of the root', { timeout: LONG }, async () => {
    // What an agent sends along when it proves the machine: the Micro-OS finds the firmware's log.
    const log = await lab.run('wc -c < /sys/kernel/security/tpm0/binary_bios_measurements');
    expect(Number(log)).toBeGreaterThan(1000);
    await lab.encryptUntil(/^encrypting the root [3-9]/);
    expect(keyIds()).toHaveLength(1);
    await lab.machine.powerCut();
  });

  it('goes on after it with the same key; actions after it still reach the system', {
    timeout: LONG,
  }, async () => {
    await lab.restart();
    expect(await lab.encrypt()).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('is encrypted'),
    });
    expect(keyIds()).toHaveLength(1);
    expect(await lab.encrypt()).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('is encrypted already'),
    });
    await lab.action('writefile', { DEST_PATH: '/etc/after-encryption', CONTENTS: 'reached' });
    expect(await lab.action('kernelupgrd', { SKIP_KERNEL_UPGRADE: 'true' })).toContain(
      'the disk is encrypted',
    );
    expect(await lab.run('ls /dev/mapper')).not.toContain('crypt');
  });

  it('the installed system opens its volumes with the TPM, which then keeps the key', {
    timeout: LONG,
  }, async () => {
    await lab.machine.powerCut();
    await lab.machine.powerOn({ kernel: undefined });
    expect(await upReport(lab.machine)).toEqual(up(16));
  });

  it('on another mainboard the recovery key is asked for once, and opens every volume', {
    timeout: LONG,
  }, async () => {
    await lab.machine.powerCut();
    await using other = await bootMachine({
      name: 'another mainboard',
      firmware: 'ovmf',
      memoryMb: 1024,
      tpm: true,
      disks: [{ bus: 'nvme', file: lab.machine.disks[0]?.path ?? '' }],
    });
    const asked = /Recovery key for rootfs_crypt:/;
    const patience = { prompt: true, timeoutMs: 240_000 };
    const { mark } = await other.console.waitFor(asked, patience);
    other.console.type('not-the-key\n');
    await other.console.waitFor(asked, { ...patience, after: mark });
    other.console.type(`${lab.escrowed[0]?.recoveryKey}\n`);
    expect(await upReport(other)).toEqual(up(16));
    expect(other.console.text).not.toContain('Recovery key for swap_crypt');
    expect(other.console.text).not.toContain(lab.escrowed[0]?.recoveryKey);
  });

  it('nothing readable is left on the disk', async () => {
    await expectUnreadable(lab.machine.disks[0], [
      '1 rootfs',
      '2 swap',
      '3 tep',
      '4 reserved',
      '5 persistent',
      '15 ESP',
      '16 BOOT',
    ]);
  });
});
