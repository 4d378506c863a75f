import { describe, expect, it } from 'vitest';
import { actionForImage, CATALOG } from '../../actions/catalog.ts';
import type { Parameter } from '../../actions/contract/parameters.ts';
import { parseVariables } from '../../actions/contract/parameters.ts';
import { runInChild } from '../../actions/process/run-in-child.ts';
import { disk } from './disks/disk-fixture.ts';

/**
 * The variables of the reference actions with values that are right for them
 * (docs/background/tinkerbell.md#actions-of-tinkerbell, docs/background/emf.md#actions).
 */
const REFERENCE: Record<string, Record<string, readonly string[]>> = {
  'quay.io/tinkerbell/actions/image2disk:latest': {
    IMG_URL: ['http://h/x.raw.gz', 'https://h:8443/x?sig=1'],
    DEST_DISK: ['/dev/sda', '/dev/disk/by-id/ata-X', '/dev/disk/by-path/pci-0000:00:1f.2-ata-1'],
    COMPRESSED: ['1', 't', 'T', 'TRUE', 'true', 'True', '0', 'f', 'F', 'FALSE', 'false', 'False', ''],
    RETRY_ENABLED: ['true'],
    RETRY_DURATION_MINUTES: ['10'],
    PROGRESS_INTERVAL_SECONDS: ['3'],
    TEXT_LOGGING: ['false'],
  },
  'localhost:7443/edge-orch/infra/tinker-actions/image2disk:1.21.1': {
    IMG_URL: ['http://h/x.img'],
    SHA256: ['a'.repeat(64), 'A'.repeat(64), ''],
    TLS_CA_CERT: ['LS0tLS1CRUdJTg==', ''],
    HTTP_PROXY: ['http://p:911', ''],
    HTTPS_PROXY: ['http://p:912', ''],
    NO_PROXY: ['localhost,10.0.0.0/8', ''],
  },
  'quay.io/tinkerbell-actions/oci2disk:v1.0.0': {
    IMG_URL: ['registry.test/images/ubuntu:22.04.gz', `r.test/x@sha256:${'a'.repeat(64)}`],
    DEST_DISK: ['/dev/nvme0n1'],
    COMPRESSED: ['true'],
    REGISTRY_USERNAME: ['user'],
    REGISTRY_PASSWORD: ['p'],
    SKIP_VERIFY: ['false'],
  },
  'quay.io/tinkerbell/actions/qemuimg2disk@sha256:abc': {
    IMG_URL: ['http://h/x.qcow2'],
    DEST_DISK: ['/dev/vda'],
    FORMAT: ['host_device', 'raw'],
    EXTRA_ARGS: ['-W'],
  },
  'tinker-actions/qemu_nbd_image2disk': {
    IMG_URL: ['http://h/x.img'],
    SHA256: ['a'.repeat(64)],
    COMPRESSED: ['false'],
  },
  'actions/archive2disk': {
    ARCHIVE_URL: ['http://h/x.tar'],
    ARCHIVE_TYPE: ['tar', 'targz', 'TARGZ'],
    DEST_DISK: ['/dev/sda3'],
    FS_TYPE: ['ext4'],
    DEST_PATH: ['/'],
    TARFILE_CHECKSUM: [`sha256:${'0'.repeat(64)}`, `sha512:${'F'.repeat(128)}`],
    INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION: ['true'],
    HTTP_CLIENT_TIMEOUT_MINUTES: ['5'],
  },
  'actions/writefile': {
    DEST_PATH: ['/etc/x'],
    CONTENTS: ['$DEST_DISK', ''],
    DEST_DISK: ['/dev/mmcblk0p1'],
    FS_TYPE: ['xfs'],
    UID: ['0', '1000'],
    GID: ['0'],
    MODE: ['0644', '644', '04755'],
    DIRMODE: ['0700'],
  },
  'actions/cexec': {
    CMD_LINE: ['apt-get update; echo "a b"'],
    BLOCK_DEVICE: ['/dev/sda3'],
    FS_TYPE: ['ext4'],
    CHROOT: ['y', 'false', '0'],
    DEFAULT_INTERPRETER: ['/bin/sh -c'],
    UPDATE_RESOLV_CONF: ['true'],
    JSON_OUTPUT: ['false'],
    JSON_OUTOUT: ['false'],
  },
  'actions/kexec': {
    BLOCK_DEVICE: ['/dev/sda1'],
    FS_TYPE: ['ext4'],
    KERNEL_PATH: ['boot/vmlinuz', '/boot/vmlinuz'],
    INITRD_PATH: ['boot/initrd'],
    CMD_LINE: ['root=/dev/sda1 ro'],
    GRUBCFG_PATH: ['boot/grub/grub.cfg'],
  },
  'actions/grub2disk': { GRUB_INSTALL_PATH: ['/dev/sda3'], GRUB_DISK: ['/dev/sda'], FS_TYPE: ['ext4'] },
  'actions/rootio': {
    MIRROR_HOST: ['192.168.1.2', 'tink.local', '[fd00::1]'],
    METADATA_SERVICE_PORT: ['50061', '7172'],
    MBR: ['y'],
    TEST: ['y'],
    JSON_FILE: ['/metadata.json'],
  },
  'actions/slurp': {
    SOURCE_DISK: ['/dev/sda'],
    DEST_URL: ['http://h:3000/image'],
    IMG_NAME: ['node-1.2'],
    COMPRESSED: ['true'],
  },
  'actions/syslinux': {
    DEST_DISK: ['/dev/sda'],
    DEST_PARTITION: ['/dev/sda1'],
    SYSLINUX_VERSION: ['386', '3.86'],
  },
  'tinker-actions/securebootflag': {
    SECURITY_FEATURE_FLAG: [
      'SECURITY_FEATURE_UNSPECIFIED',
      'SECURITY_FEATURE_NONE',
      'SECURITY_FEATURE_SECURE_BOOT_AND_FULL_DISK_ENCRYPTION',
    ],
  },
  'tinker-actions/fde_dmv': {
    LVM_SIZE: ['0', '20', ''],
    ENABLE_ONLY_DMVERITY: ['true', 'false', ''],
    MINIMUM_ROOTFS_SIZE: ['25'],
  },
  'tinker-actions/kernelupgrd': {
    LVM_SIZE: ['0'],
    KERNEL_VERSION: ['', '6.11.0-17-generic'],
    SKIP_KERNEL_UPGRADE: ['true', 'false'],
  },
  'tinker-actions/erase_non_removable_disks': {},
  'tinker-actions/efibootset': {},
  'tinker-actions/emt_partition': {},
  'public.ecr.aws/l0g8r8j6/tinkerbell/hub/reboot-action': {},
  'quay.io/tinkerbell-actions/disk-wipe:v1.0.0': {},
};

describe.each(Object.entries(REFERENCE))('%s', (image, variables) => {
  const action = actionForImage(image);
  const right = Object.fromEntries(
    Object.entries(variables).map(([name, values]) => [name, values[0] ?? '']),
  );

  it('is built in, and knows every variable of the reference', () => {
    expect(action).toBeDefined();
    const { unknown } = parseVariables(image, action?.parameters ?? {}, right);
    expect(unknown).toEqual([]);
  });

  it('takes every value the reference takes', () => {
    for (const [name, values] of Object.entries(variables)) {
      for (const value of values) {
        expect(() =>
          parseVariables(image, action?.parameters ?? {}, { ...right, [name]: value }),
        ).not.toThrow();
      }
    }
  });

  it('needs no more than the reference needs', () => {
    const required = Object.entries(action?.parameters ?? {}).flatMap(([name, { required: is }]) =>
      is ? [name] : [],
    );
    expect(required.filter((name) => !(name in variables))).toEqual([]);
  });
});

it.each([
  [
    'image2disk',
    { RETRY_DURATION_MINUTES: 10, PROGRESS_INTERVAL_SECONDS: 3, TEXT_LOGGING: false, RETRY_ENABLED: true },
  ],
  ['oci2disk', { SKIP_VERIFY: false }],
  ['archive2disk', { HTTP_CLIENT_TIMEOUT_MINUTES: 5, INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION: false }],
  ['cexec', { UPDATE_RESOLV_CONF: false, JSON_OUTOUT: true, CHROOT: false }],
  ['kexec', { GRUBCFG_PATH: 'boot/grub/grub.cfg' }],
  ['rootio', { METADATA_SERVICE_PORT: 50061, MBR: false }],
  ['securebootflag', { SECURITY_FEATURE_FLAG: 'SECURITY_FEATURE_UNSPECIFIED' }],
  ['fde_dmv', { LVM_SIZE: 0, ENABLE_ONLY_DMVERITY: false }],
  ['kernelupgrd', { LVM_SIZE: 0, SKIP_KERNEL_UPGRADE: false }],
])('%s has the defaults of the reference', (name, defaults) => {
  const { parameters = {} } = actionForImage(name) ?? {};
  const right =
    REFERENCE[Object.keys(REFERENCE).find((image) => actionForImage(image)?.name === name) ?? ''] ?? {};
  const required = Object.fromEntries(
    Object.entries(parameters).flatMap(([each, { required: is }]) =>
      is ? [[each, right[each]?.[0] ?? '']] : [],
    ),
  );
  expect(parseVariables(name, parameters, required).values).toMatchObject(defaults);
});

/** A value that is wrong for every variable of this kind; undefined where any text will do. */
function wrongFor(parameter: Parameter): string[] {
  switch (parameter.type) {
    case 'boolean':
      return ['yes', '2', 'on'];
    case 'integer':
      return ['x', '1.5', '-1', ...(parameter.max === undefined ? [] : [String(parameter.max + 1)])];
    case 'octal':
      return ['8', '0x1', '12345'];
    case 'url':
      return ['x', 'ftp://h/x', 'http://'];
    case 'absolute-path':
      return ['relative', './x'];
    case 'choice':
      return ['frob'];
    case 'text':
      return parameter.pattern ? ['\u0000 ;$(frob)\n'].filter((text) => !parameter.pattern?.test(text)) : [];
    case 'flag':
      return [];
  }
}

const rightFor = (parameter: Parameter): string => {
  const guesses = [
    '1',
    'x',
    'http://h/x',
    '/dev/x',
    'a'.repeat(64),
    ...('choices' in parameter ? parameter.choices : []),
  ];
  return (
    guesses.find((text) => {
      try {
        parseVariables('x', { X: parameter }, { X: text });
        return true;
      } catch {
        return false;
      }
    }) ?? ''
  );
};

const everyWrongValue = CATALOG.flatMap((action) =>
  Object.entries(action.parameters).flatMap(([name, parameter]) =>
    wrongFor(parameter).map((value) => ({ action, name, value })),
  ),
);

it.each(everyWrongValue.map(({ action, name, value }) => [action.name, name, value, action] as const))(
  '%s: %s=%j is refused by name, before the machine is looked at',
  async (_, name, value, action) => {
    const required = Object.fromEntries(
      Object.entries(action.parameters).flatMap(([each, parameter]) =>
        parameter.required ? [[each, rightFor(parameter)]] : [],
      ),
    );
    const touched = () => Promise.reject(new Error('the machine was looked at'));
    const thrown = await runInChild({
      action: action.name,
      variables: { ...required, [name]: value },
      args: ['partition'],
      machine: { listDisks: touched, secureBoot: touched },
      signal: new AbortController().signal,
      emit: () => {},
    }).catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      code: 'KND_ACTION_VARIABLES',
      message: expect.stringContaining(`${name}=`),
    });
    if (action.parameters[name]?.secret) expect(String(thrown)).not.toContain(value);
  },
);

describe('which disk is meant', () => {
  /** What these need besides, to get as far as the disk. */
  const besides: Record<string, string> = {
    USER_DATA: '#cloud-config\n',
    INSECURE_NO_TARFILE_CHECKSUM_VERIFICATION: 'true',
    KINDLING_ESCROW: 'none',
  };
  // The boot order of a machine with a BIOS is not looked at; oci2disk asks the registry first; for a post-mortem a disk that is not there is a finding.
  const actions = CATALOG.filter(
    ({ name, parameters }) =>
      'KINDLING_DISK' in parameters &&
      !['efibootset', 'boot-order', 'oci2disk', 'post-mortem'].includes(name),
  );
  const perform = (action: (typeof CATALOG)[number], variables: Record<string, string>) => {
    const known = Object.entries(action.parameters);
    const required = known.flatMap(([name, parameter]) =>
      besides[name] !== undefined
        ? [[name, besides[name]]]
        : parameter.required
          ? [[name, rightFor(parameter)]]
          : [],
    );
    return runInChild({
      action: action.name,
      variables: { ...Object.fromEntries(required), ...variables },
      machine: {
        listDisks: async () => [disk({ name: 'sda', serial: 'A' }), disk({ name: 'sdb', serial: 'B' })],
        secureBoot: async () => 'off',
      },
      signal: new AbortController().signal,
      emit: () => {},
      isDryRun: true,
    });
  };

  it.each(actions.map((action) => [action.name, action] as const))(
    '%s: by KINDLING_DISK',
    async (_, action) => {
      await expect(perform(action, { KINDLING_DISK: 'frob=1' })).rejects.toMatchObject({
        code: 'KND_DISK_SELECTOR',
      });
      await expect(perform(action, { KINDLING_DISK: 'serial=C' })).rejects.toMatchObject({
        code: 'KND_DISK_NONE',
      });
      await expect(perform(action, { KINDLING_DISK: 'serial=?' })).rejects.toMatchObject({
        code: 'KND_DISK_AMBIGUOUS',
      });
    },
  );

  it.each(
    actions.flatMap((action) =>
      ['DEST_DISK', 'BLOCK_DEVICE', 'GRUB_INSTALL_PATH']
        .filter((name) => name in action.parameters)
        .map((name) => [action.name, name, action] as const),
    ),
  )('%s: by %s, and nothing else takes its place', async (_, name, action) => {
    for (const device of ['/dev/sdz', '/dev/disk/by-id/none', '/dev/disk/by-path/none-part1']) {
      await expect(perform(action, { [name]: device })).rejects.toMatchObject({ code: 'KND_DISK_NOT_FOUND' });
    }
  });
});
