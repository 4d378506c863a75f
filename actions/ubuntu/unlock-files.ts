import { readOwnText } from '../../system/own-file.ts';
import type { FileToPlace } from '../target-root/place-file.ts';

/** What the encrypted system needs in it to open its volumes: for Debian's initramfs-tools and cryptsetup, which Ubuntu has too. */
export interface EncryptedVolume {
  /** Below /dev/mapper. */
  name: string;
  luksUuid: string;
}

/** Here lie the scripts of measured-boot/, which say themselves what each is for. */
const SCRIPTS = '/usr/local/lib/kindling';
const KEYSCRIPT = `${SCRIPTS}/unlock`;
const SEAL = `${SCRIPTS}/seal`;

/** The key from the TPM; where it keeps it to itself, the recovery key from a person, once for all volumes. */
const unlock = (pcrs: string) => `#!/bin/sh
# Made by Kindling. Prints the key of an encrypted volume; crypttab names this file.
typed=/run/kindling-recovery-key
if [ "\${CRYPTTAB_TRIED:-0}" -eq 0 ]; then
  if [ -s "$typed" ]; then exec cat "$typed"; fi
  if key=$(tpm2-initramfs-tool unseal --pcrs ${pcrs} -T device:/dev/tpmrm0 2>/dev/null) && [ -n "$key" ]; then
    printf %s "$key"
    exit 0
  fi
  echo "The TPM does not give the key of $CRYPTTAB_NAME." >&2
fi
(umask 077; /lib/cryptsetup/askpass "Recovery key for $CRYPTTAB_NAME: " > "$typed")
cat "$typed"
`;

const HOOK = `#!/bin/sh
# Made by Kindling: what ${KEYSCRIPT} calls must be in the initramfs. The TPM library is loaded by name at run time.
case "$1" in prereqs) exit 0 ;; esac
. /usr/share/initramfs-tools/hook-functions
copy_exec /usr/bin/tpm2-initramfs-tool
copy_exec /lib/cryptsetup/askpass
if [ -e ${SCRIPTS}/tpm-policy.sh ]; then
  for program in tpm2 base64 od; do copy_exec "/usr/bin/$program"; done
  for file in tpm-policy.sh first-pcrs; do copy_file script "${SCRIPTS}/$file"; done
fi
for library in /usr/lib/*/libtss2-tcti-device.so.0; do copy_exec "$library"; done
manual_add_modules tpm_tis tpm_crb
`;

/**
 * TPM2_PCR_Extend (TPM 2.0 library part 3, 22.2) of PCR 15 with an empty password and 32 bytes of ff: as a command of its own it needs no TPM
 * tools in the initramfs.
 */
export function extendPcr15(): Buffer {
  const body = Buffer.concat([
    Buffer.from('0000000f', 'hex'), // the PCR
    Buffer.from('00000009', 'hex'), // size of the authorization
    Buffer.from('40000009', 'hex'), // by password,
    Buffer.from('0000000000', 'hex'), // which is empty
    Buffer.from('00000001', 'hex'), // one digest
    Buffer.from('000b', 'hex'), // SHA-256
    Buffer.alloc(32, 0xff),
  ]);
  const header = Buffer.alloc(10);
  header.writeUInt16BE(0x8002, 0); // TPM_ST_SESSIONS
  header.writeUInt32BE(10 + body.length, 2);
  header.writeUInt32BE(0x182, 6); // TPM_CC_PCR_Extend
  return Buffer.concat([header, body]);
}

const inOctal = (bytes: Buffer) =>
  [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');

/** Once every volume is open, PCR 15 is filled: the TPM gives the key to nobody any more until the machine starts anew. */
const LOCK = `#!/bin/sh
# Made by Kindling: from here on the TPM keeps the key (TPM2_PCR_Extend of PCR 15).
case "$1" in prereqs) exit 0 ;; esac
rm -f /run/kindling-recovery-key /run/kindling-disk-key
[ -c /dev/tpmrm0 ] || exit 0
printf '${inOctal(extendPcr15())}' > /run/kindling-extend
cat /run/kindling-extend > /dev/tpmrm0
rm -f /run/kindling-extend
`;

const script = (name: 'seal' | 'tpm-policy' | 'unlock', path: string, mode: number): FileToPlace => ({
  path,
  contents: readOwnText(`actions/ubuntu/measured-boot/${name}.sh`),
  mode,
});

/** After whatever may change what is booted; a failure is said, and keeps no package from being installed. */
const AFTER_CHANGE = `#!/bin/sh
# Made by Kindling: the key of the disk is sealed to the boot that comes next.
${SEAL} next || true
`;
const CHANGES = [
  '/etc/initramfs/post-update.d/zz-kindling-seal',
  '/etc/kernel/postinst.d/zzz-kindling-seal',
  '/etc/kernel/postrm.d/zzz-kindling-seal',
];

const SERVICE = `[Unit]
Description=Seal the key of the disk to what was booted
ConditionPathExists=/dev/tpmrm0
After=local-fs.target

[Service]
Type=oneshot
ExecStart=${SEAL} booted

[Install]
WantedBy=multi-user.target
`;

/**
 * What a system needs that seals the key of its disk to what it boots, and opens it so: besides the above, and another keyscript. It holds the key: only who opened the disk can read it
 * there. `pcrs` are those of the first boot.
 */
export function sealFiles(pcrs: string, diskKey: string): FileToPlace[] {
  return [
    script('unlock', KEYSCRIPT, 0o755),
    script('tpm-policy', `${SCRIPTS}/tpm-policy.sh`, 0o644),
    { path: `${SCRIPTS}/first-pcrs`, contents: `${pcrs}\n`, mode: 0o644 },
    script('seal', SEAL, 0o755),
    { path: '/etc/kindling/disk.key', contents: diskKey, mode: 0o400 },
    { path: `/etc/systemd/system/${SEAL_SERVICE}`, contents: SERVICE, mode: 0o644 },
    ...CHANGES.map((path) => ({ path, contents: AFTER_CHANGE, mode: 0o755 })),
    {
      path: '/etc/apt/apt.conf.d/95kindling-seal',
      contents: `DPkg::Post-Invoke { "${SEAL} next || true"; };\n`,
      mode: 0o644,
    },
  ];
}

const SEAL_SERVICE = 'kindling-seal.service';
/** Run in the system once its boot menu is made: the few lines of GRUB that the TPM will know. */
export const ARRANGE_BOOT = `systemctl enable ${SEAL_SERVICE} && ${SEAL} menu`;

export function unlockFiles(volumes: readonly EncryptedVolume[], pcrs: string): FileToPlace[] {
  const lines = volumes.map(
    ({ name, luksUuid }) => `${name} UUID=${luksUuid} none luks,initramfs,keyscript=${KEYSCRIPT}`,
  );
  return [
    { path: '/etc/crypttab', contents: `# Made by Kindling\n${lines.join('\n')}\n`, mode: 0o644 },
    { path: KEYSCRIPT, contents: unlock(pcrs), mode: 0o755 },
    { path: '/etc/initramfs-tools/hooks/kindling-encryption', contents: HOOK, mode: 0o755 },
    { path: '/etc/initramfs-tools/scripts/init-bottom/kindling-encryption', contents: LOCK, mode: 0o755 },
    // Ubuntu's cloud images start without an initramfs by the GUID of the root's partition, which is locked now.
    {
      path: '/etc/default/grub.d/95-kindling-encryption.cfg',
      contents: 'GRUB_FORCE_PARTUUID=\n',
      mode: 0o644,
    },
    // The root has its size; cloud-init would only complain that it cannot grow an encrypted volume.
    {
      path: '/etc/cloud/cloud.cfg.d/95_kindling_encryption.cfg',
      contents: "growpart: {mode: 'off'}\n",
      mode: 0o644,
    },
  ];
}
