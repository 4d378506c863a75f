import { hkdfSync, randomBytes } from 'node:crypto';

/** The keys of one encrypted disk. Both open every volume of it; each sits in a key slot of its own. */
export interface DiskKeys {
  /** Names the pair without telling anything about it: in the orchestrator’s record and in the headers of the volumes. */
  keyId: string;
  /** What the TPM keeps; hexadecimal, because that is how EMF’s initramfs passes it on. */
  diskKey: string;
  /** What people type: eight groups in the alphabet that is the same on every keyboard. */
  recoveryKey: string;
}

/** "Modhex", from which no layout moves a letter; systemd’s recovery keys use it too. */
const MODHEX = 'cbdefghijklnrtuv';

export function newDiskKeys(): DiskKeys {
  return diskKeysOf(randomBytes(32).toString('hex'));
}

/** The other two follow from the disk key one way: a run after a kill needs nothing but the TPM, and the recovery key does not give the disk key away. */
export function diskKeysOf(diskKey: string): DiskKeys {
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', Buffer.from(diskKey, 'hex'), Buffer.alloc(0), purpose, bytes));
  return {
    keyId: derive('kindling key id', 8).toString('hex'),
    diskKey,
    recoveryKey: inGroups(derive('kindling recovery key', 32)),
  };
}

function inGroups(bytes: Buffer): string {
  const letters = [...bytes.toString('hex')].map((digit) => MODHEX[Number.parseInt(digit, 16)]).join('');
  return letters.match(/.{8}/g)?.join('-') ?? letters;
}
