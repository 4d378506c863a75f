import {
  atStart,
  hasMagic,
  labelAt,
  type SignatureMatch,
  type SignatureRule,
  textAt,
  uuidAt,
} from './rule.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

/** ext2, ext3, ext4: Linux Documentation/filesystems/ext4/super.rst. The superblock is 1 KiB at 1 KiB. */
const EXT: SignatureRule = {
  bases: () => [KIB],
  length: KIB,
  match(block) {
    const MAGIC = 0x38;
    if (block.readUInt16LE(MAGIC) !== 0xef53) return undefined;
    const compat = block.readUInt32LE(0x5c);
    const incompat = block.readUInt32LE(0x60);
    const roCompat = block.readUInt32LE(0x64);
    return {
      type: extType(compat, incompat, roCompat),
      ...uuidAt(block, 0x68),
      ...labelAt(block, 0x78, 16),
      magicAt: MAGIC,
      magicBytes: 2,
    };
  },
};

/** What each generation knows decides its name, as blkid does it. */
function extType(compat: number, incompat: number, roCompat: number): string {
  const HAS_JOURNAL = 0x4;
  const JOURNAL_DEVICE = 0x8;
  const INCOMPAT_EXT2 = 0x2 | 0x10; // filetype, meta_bg
  const INCOMPAT_EXT3 = INCOMPAT_EXT2 | 0x4; // + recover
  const RO_COMPAT_EXT3 = 0x1 | 0x2 | 0x4; // sparse_super, large_file, btree_dir
  if (incompat & JOURNAL_DEVICE) return 'jbd';
  const isBeyondExt3 = (incompat & ~INCOMPAT_EXT3) !== 0 || (roCompat & ~RO_COMPAT_EXT3) !== 0;
  if (isBeyondExt3) return 'ext4';
  return compat & HAS_JOURNAL ? 'ext3' : 'ext2';
}

const XFS: SignatureRule = {
  bases: atStart,
  length: 512,
  match: (block) =>
    hasMagic(block, 0, 'XFSB')
      ? { type: 'xfs', ...uuidAt(block, 32), ...labelAt(block, 108, 12), magicAt: 0, magicBytes: 4 }
      : undefined,
};

/** The first superblock and its two mirrors: a wipe that forgets the mirrors leaves a disk btrfs still recognizes. */
const BTRFS: SignatureRule = {
  bases: () => [64 * KIB, 64 * MIB, 256 * GIB],
  length: 4 * KIB,
  match: (block) =>
    hasMagic(block, 0x40, '_BHRfS_M')
      ? { type: 'btrfs', ...uuidAt(block, 0x20), ...labelAt(block, 0x12b, 256), magicAt: 0x40, magicBytes: 8 }
      : undefined,
};

/** FAT12/16/32: Microsoft FAT specification, section 3. The type string decides; the boot signature must be there too. */
const FAT: SignatureRule = {
  bases: atStart,
  length: 512,
  match(block) {
    if (block.readUInt16LE(510) !== 0xaa55) return undefined;
    const at = [0x52, 0x36].find((offset) =>
      ['FAT12', 'FAT16', 'FAT32', 'FAT'].includes(textAt(block, offset, 8)),
    );
    if (at === undefined) return undefined;
    const serial = block
      .readUInt32LE(at - 15)
      .toString(16)
      .toUpperCase()
      .padStart(8, '0');
    const label = textAt(block, at - 11, 11);
    return {
      type: 'vfat',
      uuid: `${serial.slice(0, 4)}-${serial.slice(4)}`,
      ...(label && label !== 'NO NAME' ? { label } : {}),
      // Without the name string blkid still goes by the numbers in the boot sector: the whole of it is the magic.
      magicAt: 0,
      magicBytes: 512,
    };
  },
};

/** NTFS, exFAT, ReFS and BitLocker all put their name at byte 3 of the boot sector. */
const MICROSOFT: SignatureRule = {
  bases: atStart,
  length: 512,
  match(block) {
    const name = block.subarray(3, 11).toString('latin1');
    const found = (type: string, rest: Partial<SignatureMatch> = {}): SignatureMatch => ({
      type,
      ...rest,
      magicAt: 3,
      magicBytes: 8,
    });
    if (name === 'NTFS    ') {
      return found('ntfs', {
        uuid: Buffer.from(block.subarray(0x48, 0x50)).reverse().toString('hex').toUpperCase(),
      });
    }
    if (name === 'EXFAT   ') {
      const serial = block.readUInt32LE(100).toString(16).toUpperCase().padStart(8, '0');
      return found('exfat', { uuid: `${serial.slice(0, 4)}-${serial.slice(4)}` });
    }
    if (name === '-FVE-FS-') return found('BitLocker');
    if (name.startsWith('ReFS\0')) return found('ReFS');
    return undefined;
  },
};

/** Swap: the magic is the last ten bytes of the first page, whatever the page size of the machine that made it. */
const SWAP: SignatureRule[] = [4, 8, 16, 64].map((pageKib) => ({
  bases: atStart,
  length: pageKib * KIB,
  match(block: Buffer) {
    const magicAt = pageKib * KIB - 10;
    if (hasMagic(block, magicAt, 'SWAP-SPACE')) return { type: 'swap', magicAt, magicBytes: 10 };
    if (!hasMagic(block, magicAt, 'SWAPSPACE2')) return undefined;
    return { type: 'swap', ...uuidAt(block, 1036), ...labelAt(block, 1052, 16), magicAt, magicBytes: 10 };
  },
}));

const SQUASHFS: SignatureRule = {
  bases: atStart,
  length: 96,
  match: (block) =>
    hasMagic(block, 0, 'hsqs') ? { type: 'squashfs', magicAt: 0, magicBytes: 4 } : undefined,
};

/** ISO 9660: ECMA-119, 8.4: the primary volume descriptor is sector 16. */
const ISO9660: SignatureRule = {
  bases: () => [32 * KIB],
  length: 2 * KIB,
  match: (block) =>
    hasMagic(block, 1, 'CD001')
      ? { type: 'iso9660', ...labelAt(block, 40, 32), magicAt: 1, magicBytes: 5 }
      : undefined,
};

const EROFS: SignatureRule = {
  bases: () => [KIB],
  length: 128,
  match: (block) =>
    block.readUInt32LE(0) === 0xe0f5e1e2
      ? { type: 'erofs', ...uuidAt(block, 48), ...labelAt(block, 64, 16), magicAt: 0, magicBytes: 4 }
      : undefined,
};

const F2FS: SignatureRule = {
  bases: () => [KIB],
  length: 128,
  match: (block) =>
    block.readUInt32LE(0) === 0xf2f52010
      ? { type: 'f2fs', ...uuidAt(block, 108), magicAt: 0, magicBytes: 4 }
      : undefined,
};

const APPLE: SignatureRule = {
  bases: () => [0, KIB],
  length: 64,
  match(block, base) {
    if (base === 0 && hasMagic(block, 32, 'NXSB')) return { type: 'apfs', magicAt: 32, magicBytes: 4 };
    const isHfs =
      base === KIB &&
      ((hasMagic(block, 0, 'H+') && block.readUInt16BE(2) === 4) || hasMagic(block, 0, 'HX\0\x05'));
    return isHfs ? { type: 'hfsplus', magicAt: 0, magicBytes: 2 } : undefined;
  },
};

export const FILE_SYSTEMS: readonly SignatureRule[] = [
  EXT,
  XFS,
  BTRFS,
  FAT,
  MICROSOFT,
  ...SWAP,
  SQUASHFS,
  ISO9660,
  EROFS,
  F2FS,
  APPLE,
];
