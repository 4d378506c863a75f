import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const UNIT = 'actions/reference-defects.test.ts';
const INTEGRATION = 'actions/reference-defects.integration.test.ts';
const TINKERBELL = 'actions/tinkerbell-actions.integration.test.ts';
const ERASE = 'actions/erase/erase-disk.integration.test.ts';
const BOOT_ORDER = 'actions/boot-order/plan-boot-order.test.ts';
const FAULTS = 'actions/image-writer/formats-and-faults.integration.test.ts';

/** What the reference does wrong with disks and boot entries, and the test that it would fail: file below test/ and part of its title. */
const DEFECTS: readonly (readonly [what: string, file: string, title: string])[] = [
  // The installer of EMT-S, by the numbers of docs/background/k3s.md#defects-of-the-emt-s-installer. 8 to 14, 19
  // and 20 are about its config file and its network.
  ['1 no disk: the target becomes /dev/', UNIT, 'defect 1:'],
  ['2 several disks: no filter by bus', UNIT, 'defect 2:'],
  ['3 eMMC, virtio, SAS and RAID are never candidates', UNIT, 'defect 3:'],
  ['4 every disk is wiped before anything is validated', ERASE, 'defect 4:'],
  ['4 and from a stick', 'agent/standalone/install.test.ts', 'and only once the image is good'],
  ['5 “single disk” is always true', UNIT, 'defect 5:'],
  ['6 the size of the disk is cut to whole TiB', UNIT, 'defect 6:'],
  ['7 the last disk with a boot flag is the target', UNIT, 'defect 7:'],
  ['15 a stick has exactly 7 partitions', 'agent/standalone/medium.test.ts', 'defect 15:'],
  ['16 the root hash is trusted by nothing', 'actions/microvisor/encryption.qemu.test.ts', 'defect 16:'],
  ['16 without encryption', 'actions/microvisor/seal.integration.test.ts', 'defect 16:'],
  ['17 only .raw.gz is an image', INTEGRATION, 'defect 17:'],
  ['18 entries of other systems are deleted', UNIT, 'defect 18:'],

  // EMF: erase_non_removable_disks
  ['the first 2 GB only', UNIT, 'leaves the backup table, RAID members at the end and later partitions'],
  ['one disk after the other', INTEGRATION, 'goes from disk to disk; ours has begun all before one is done'],
  ['no discard', ERASE, '%s removes the data, and proves it'],
  ['nothing is looked at afterwards', ERASE, 'a tool that says it erased and did not is found out'],
  ['a USB disk that says “not removable” is wiped', ERASE, 'erases what is chosen, leaves the rest'],
  ['LVM, RAID, LUKS, bcache stay up', 'actions/erase/leftovers.qemu.test.ts', 'takes them down, clears them'],

  // EMF: efibootset
  ['always ends with success', UNIT, 'a disk without a system partition is no success'],
  ['and without a loader', BOOT_ORDER, 'nowhere, or of an unknown name, is no success'],
  ['makes no entry for the disk', BOOT_ORDER, 'adds an entry for the disk, puts it first'],
  ['switches the network’s entry off', BOOT_ORDER, 'as efibootset: what was booted goes to the end'],
  ['reads nothing back', BOOT_ORDER, 'one that forgets what it was told is found out'],
  ['full or read-only variables', BOOT_ORDER, '%s is named %s'],

  // image2disk of both
  ['a download that is cut off is success', INTEGRATION, 'a download that is cut short is no success'],
  ['and one that ends in order', INTEGRATION, 'nor is one that ends in order'],
  ['300 is an image', INTEGRATION, 'an answer %i is no image'],
  [
    'compression by the suffix; a query hides it; .zst is unknown',
    INTEGRATION,
    '%s is recognized by its bytes',
  ],
  ['COMPRESSED that is not so', INTEGRATION, 'COMPRESSED=%s that is not so is a mistake'],
  ['the hash is compared when the disk can boot already', INTEGRATION, 'a wrong SHA-256 is found before'],
  ['a retry starts at byte 0', INTEGRATION, 'a retry goes on where the download broke'],
  ['progress is always 0', INTEGRATION, 'progress tells how far it is'],
  ['no timeout', FAULTS, 'a connection that drips'],
  [
    'nothing is checked without SHA256',
    FAULTS,
    'one flipped bit is found, whatever the format can check itself',
  ],
  [
    'no credentials, no proxy',
    'actions/image-writer/transport.integration.test.ts',
    'carries TLS by CONNECT',
  ],
  [
    'the table is not re-read, and that is only logged',
    'actions/disks.qemu.test.ts',
    'and its files can be changed',
  ],
  [
    'oci2disk: a mistyped disk fills the memory',
    INTEGRATION,
    'a disk that is not there is not made as a file',
  ],
  ['oci2disk: compression by the tag', INTEGRATION, 'the layer is compressed as its bytes say'],
  ['oci2disk: the digest is not checked', TINKERBELL, 'a layer that is not what its digest says'],

  // rootio
  ['what fails is only logged', INTEGRATION, 'what fails does not end with success'],
  ['a file system that is unknown', UNIT, 'a file system it does not know is no success'],
  ['a layout that does not fit', UNIT, 'a partition that leaves the disk, is no success'],
  ['mkfs that fails', 'actions/rootio/rootio.integration.test.ts', 'formats, and fails when it fails'],
  ['wipe: 1 GiB of memory, and only the first GiB', INTEGRATION, 'wipe takes no GiB of memory'],
  [
    'logical volumes are dropped',
    'actions/erase/leftovers.qemu.test.ts',
    'rootio makes partitions and logical volumes',
  ],
];

it.each(DEFECTS)('%s: has its test', (_, file, title) => {
  expect(readFileSync(path.join(import.meta.dirname, '..', file), 'utf8')).toContain(title);
});
