import type { Disk } from '../../protocol/inventory.ts';
import { defineAction } from '../contract/action.ts';
import { SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { findInstalledDisk } from '../disks/installed-disk.ts';
import { ESCROW_PARAMETERS } from '../encryption/escrow.ts';
import { encryptUbuntu } from '../ubuntu/encrypt-ubuntu.ts';
import { LVM_SIZE_PARAMETER } from '../volume-groups/lvm-size.ts';
import { encryptMicrovisor } from './encrypt-microvisor.ts';
import { sealMicrovisor } from './seal-microvisor.ts';

export const fdeDmv = defineAction({
  name: 'fde_dmv',
  aliases: [],
  summary:
    'Encrypts the disk (LUKS2, key in the TPM); gives an Edge Microvisor system its two slots and seals its root with dm-verity',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ...SELECTOR_PARAMETER,
    ...LVM_SIZE_PARAMETER,
    ENABLE_ONLY_DMVERITY: {
      type: 'boolean',
      default: false,
      description: 'true: dm-verity only. false: full disk encryption too',
    },
    MINIMUM_ROOTFS_SIZE: {
      type: 'integer',
      default: 25,
      min: 1,
      description: 'GB that the root of a mutable system gets at least; 50 where the disk has room',
    },
    FDE_PCRS: {
      type: 'text',
      default: '15',
      pattern: /^\d{1,2}(,\d{1,2})*$/,
      description:
        'PCRs (SHA-256 bank) that must be as they are now for the TPM to give the key out. The systems of EMF fill PCR 15 once they have it',
    },
    KINDLING_SEAL: {
      type: 'choice',
      choices: ['boot', 'pcrs'],
      default: 'pcrs',
      description:
        'Mutable systems. boot: at its first boot the system seals the key to what it booted (PCRs 4, 7, 8, 9, 15), and to each update of it. pcrs: the key stays sealed to FDE_PCRS',
    },
    DEST_DISK: { type: 'absolute-path', description: 'The disk; without it the target disk' },
    KINDLING_OTHER_DISKS: {
      type: 'choice',
      choices: ['use', 'leave'],
      default: 'use',
      description: 'Whether other disks of the machine that are empty become the volume group lvmvg',
    },
    ...ESCROW_PARAMETERS,
  },
  notes: [
    'Partitions as the boot module of the image expects them: 1 esp, 2 rootfs, 3 edge_persistent, 4 hashmap_a, 5 hashmap_b, 6 rootfs_b, 7 roothash, 8 swap, then 9 reserved, 10 lvm; with encryption 9 tep, 10 reserved, 11 lvm. The root hash is in `part_a_roothash` on partition 7.',
    'Encryption: LUKS2 with two key slots. Slot 0 is a random key that the TPM keeps where EMF’s initramfs looks for it; slot 1 is the recovery key, which must have been accepted by KINDLING_ESCROW_URL before anything is written. Everything that passed through “reserved” is overwritten at the end. The `full` profile of the Micro-OS has the tools.',
    'With ENABLE_ONLY_DMVERITY the root hash lies in clear and unsigned where the boot module of the image looks for it: damage and changes by accident are I/O errors, but who can write to the disk can change the root and seal it anew. Encryption puts root, hash tree and root hash behind the key in the TPM. With FDE_PCRS 15, which the systems of EMF expect, the TPM gives that key to any system that this very machine starts: what keeps a foreign one from starting is Secure Boot.',
    'Mutable systems (Ubuntu, Debian): partition 1 is the root; with /boot in it (22.04) 2 boot, 3 swap, 4 trusted_compute, 5 reserved, 6 persistent, 7 lvm are added, with /boot on a partition of its own (24.04) 2 swap, 3 tep, 4 reserved, 5 persistent, 6 lvm. Only the EFI system partition and /boot stay readable. The system opens its volumes in its initramfs with the key from the TPM, asks for the recovery key where the TPM keeps it, and then fills PCR 15. With KINDLING_SEAL=boot it seals the key anew at its first boot, to what it booted. It needs initramfs-tools, GRUB, cryptsetup-initramfs, tpm2-initramfs-tool and, for KINDLING_SEAL=boot, tpm2-tools: these packages are installed with its package manager, before anything is encrypted, if the image lacks them. ENABLE_ONLY_DMVERITY does not concern them.',
    'Any disk name; resumable: a journal on the disk says how far it was, the TPM has the key. Other disks of the machine that are empty become the volume group lvmvg, unless KINDLING_OTHER_DISKS says leave. The second slot stays empty. Everything that changes the root must come before this action.',
  ],
  async run(variables, context) {
    const { disk, others } = await findInstalledDisk(context, variables);
    const disks = { disk, others: variables.KINDLING_OTHER_DISKS === 'use' ? others : [] };
    if (isMutable(disk)) return encryptUbuntu(disks, variables, context);
    return variables.ENABLE_ONLY_DMVERITY
      ? sealMicrovisor(disks, variables.LVM_SIZE, context)
      : encryptMicrovisor(disks, variables, context);
  },
});

/** The reference tells the two kinds of system apart by the file system of partition 1; once that is encrypted, its name still does. */
function isMutable({ partitions }: Disk): boolean {
  const first = partitions.find(({ number }) => number === 1);
  return first?.partLabel === 'rootfs' || (first?.signatures.some(({ type }) => type === 'ext4') ?? false);
}
