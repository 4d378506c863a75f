import { expect, it } from 'vitest';
import { diskKeysOf, newDiskKeys } from '../../../actions/encryption/disk-keys.ts';

it('the recovery key and the id follow from the disk key, so that the TPM alone suffices after a kill', () => {
  const keys = newDiskKeys();
  expect(diskKeysOf(keys.diskKey)).toEqual(keys);
  expect(newDiskKeys().keyId).not.toBe(keys.keyId);
});

it('a recovery key is 256 bits in letters that are the same on every keyboard', () => {
  expect(newDiskKeys().recoveryKey).toMatch(/^[cbdefghijklnrtuv]{8}(-[cbdefghijklnrtuv]{8}){7}$/);
});

it('neither tells the disk key', () => {
  const { diskKey, keyId, recoveryKey } = newDiskKeys();
  expect(diskKey).toMatch(/^[0-9a-f]{64}$/);
  expect(`${keyId}${recoveryKey}`).not.toContain(diskKey.slice(0, 8));
});
