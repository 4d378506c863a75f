import { atStart, hasMagic, labelAt, type SignatureRule, textAt, uuidAt } from './rule.ts';

const KIB = 1024;
const SECTOR = 512;

/** LUKS 1 and 2: LUKS2 On-Disk Format Specification 2.1, section 2. Version 2 keeps a second header further in. */
const LUKS: SignatureRule = {
  bases: () => [0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096].map((kib) => kib * KIB),
  length: 512,
  match(block, base) {
    const magic = base === 0 ? 'LUKS\xba\xbe' : 'SKUL\xba\xbe';
    if (!hasMagic(block, 0, magic)) return undefined;
    const version = block.readUInt16BE(6);
    const uuid = textAt(block, 168, 40);
    return {
      type: 'crypto_LUKS',
      ...(uuid ? { uuid } : {}),
      ...(version === 2 ? labelAt(block, 24, 48) : {}),
      magicAt: 0,
      magicBytes: 6,
    };
  },
};

/** LVM 2 physical volume: the label is in one of the first four sectors. */
const LVM2: SignatureRule = {
  bases: () => [0, 1, 2, 3].map((sector) => sector * SECTOR),
  length: SECTOR,
  match(block) {
    if (!hasMagic(block, 0, 'LABELONE') || !hasMagic(block, 24, 'LVM2 001')) return undefined;
    const id = textAt(block, 32, 32);
    const groups = /^(.{6})(.{4})(.{4})(.{4})(.{4})(.{4})(.{6})$/.exec(id);
    return {
      type: 'LVM2_member',
      ...(groups ? { uuid: groups.slice(1).join('-') } : {}),
      magicAt: 0,
      magicBytes: 8,
    };
  },
};

/** Linux RAID superblock version 1: at the start (1.1), at 4 KiB (1.2) or 8 KiB before the end, rounded down to 4 KiB (1.0). */
const MD_1: SignatureRule = {
  bases: (size) => [0, 4 * KIB, (Math.floor(size / SECTOR / 8) * 8 - 16) * SECTOR],
  length: 256,
  match(block) {
    if (!hasMagic(block, 0, MD_MAGIC) || block.readUInt32LE(4) !== 1) return undefined;
    return {
      type: 'linux_raid_member',
      ...uuidAt(block, 16),
      ...labelAt(block, 32, 32),
      magicAt: 0,
      magicBytes: 4,
    };
  },
};
const MD_MAGIC = [0xfc, 0x4e, 0x2b, 0xa9];

/** Version 0.90: the last whole 64 KiB block; the uuid is in two pieces, in the byte order of the machine that made it. */
const MD_0: SignatureRule = {
  bases: (size) => [Math.floor(size / (64 * KIB)) * 64 * KIB - 64 * KIB],
  length: 256,
  match(block) {
    const isLittle = hasMagic(block, 0, MD_MAGIC) && block.readUInt32LE(4) === 0;
    const isBig = hasMagic(block, 0, [...MD_MAGIC].reverse()) && block.readUInt32BE(4) === 0;
    if (!isLittle && !isBig) return undefined;
    const words = [20, 52, 56, 60].map((at) => {
      const word = Buffer.from(block.subarray(at, at + 4));
      return isLittle ? word.reverse() : word;
    });
    return { type: 'linux_raid_member', ...uuidAt(Buffer.concat(words), 0), magicAt: 0, magicBytes: 4 };
  },
};

/** Intel RST ("fake RAID"): the anchor is the last but one sector. */
const INTEL_RAID: SignatureRule = {
  bases: (size) => [Math.floor(size / SECTOR) * SECTOR - 2 * SECTOR],
  length: 64,
  match: (block) =>
    hasMagic(block, 0, 'Intel Raid ISM Cfg Sig. ')
      ? { type: 'isw_raid_member', magicAt: 0, magicBytes: 24 }
      : undefined,
};

/** SNIA DDF: the anchor header is the last sector. */
const DDF_RAID: SignatureRule = {
  bases: (size) => [Math.floor(size / SECTOR) * SECTOR - SECTOR],
  length: 64,
  match(block) {
    const word = block.readUInt32BE(0);
    return word === 0xde11de11 || word === 0x11de11de
      ? { type: 'ddf_raid_member', magicAt: 0, magicBytes: 4 }
      : undefined;
  },
};

/** ZFS: four labels of 256 KiB, two at each end; the uberblocks fill the second half of each label. */
const ZFS: SignatureRule = {
  bases(size) {
    const label = 256 * KIB;
    const end = Math.floor(size / label) * label;
    return [0, label, end - 2 * label, end - label];
  },
  length: 256 * KIB,
  match(block) {
    const UBERBLOCKS = 128 * KIB;
    const hits: number[] = [];
    for (let at = UBERBLOCKS; at < block.length; at += KIB) {
      const isUberblock =
        (block.readUInt32LE(at) === 0x00bab10c && block.readUInt32LE(at + 4) === 0) ||
        (block.readUInt32BE(at + 4) === 0x00bab10c && block.readUInt32BE(at) === 0);
      if (isUberblock) hits.push(at);
    }
    const [first] = hits;
    // One match could be chance or file contents; blkid asks for several as well.
    if (first === undefined || hits.length < 4) return undefined;
    return { type: 'zfs_member', magicAt: first, magicBytes: UBERBLOCKS - (first - UBERBLOCKS) };
  },
};

/** bcache and bcachefs share place and layout and differ in the magic. */
const BCACHE: SignatureRule = {
  bases: () => [4 * KIB],
  length: 256,
  match(block) {
    const magic = block.subarray(24, 40).toString('hex');
    const type = { c68573f64e1a45ca8265f57f48ba6d81: 'bcache', c68573f666ce90a9d96a60cf803df7ef: 'bcachefs' }[
      magic
    ];
    return type
      ? { type, ...uuidAt(block, type === 'bcache' ? 40 : 56), magicAt: 24, magicBytes: 16 }
      : undefined;
  },
};

const VERITY: SignatureRule = {
  bases: atStart,
  length: 64,
  match: (block) =>
    hasMagic(block, 0, 'verity\0\0')
      ? { type: 'DM_verity_hash', ...uuidAt(block, 16), magicAt: 0, magicBytes: 8 }
      : undefined,
};

const CEPH: SignatureRule = {
  bases: atStart,
  length: 64,
  match: (block) =>
    hasMagic(block, 0, 'bluestore block device')
      ? { type: 'ceph_bluestore', magicAt: 0, magicBytes: 22 }
      : undefined,
};

const VMFS: SignatureRule = {
  bases: () => [KIB * KIB],
  length: 64,
  match: (block) =>
    hasMagic(block, 0, [0x0d, 0xd0, 0x01, 0xc0])
      ? { type: 'VMFS_volume_member', magicAt: 0, magicBytes: 4 }
      : undefined,
};

/** Things that belong to something bigger: RAID, volume groups, encryption, pools. */
export const MEMBERS: readonly SignatureRule[] = [
  LUKS,
  LVM2,
  MD_1,
  MD_0,
  INTEL_RAID,
  DDF_RAID,
  ZFS,
  BCACHE,
  VERITY,
  CEPH,
  VMFS,
];
