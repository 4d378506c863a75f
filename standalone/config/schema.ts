import { z } from 'zod';
import { kubernetesSection } from './kubernetes-schema.ts';

/*
 * The shape of the config file. Everything is optional here and required keys are only told to the JSON Schema: the
 * rules report what is missing, so that one missing key never hides the other findings.
 */

const text = (description: string) => z.string().meta({ description }).optional();
const texts = (description: string) => z.array(z.string()).meta({ description }).optional();
const flag = (description: string) => z.boolean().meta({ description }).optional();
const number = (description: string) => z.number().meta({ description }).optional();
function oneOf<const T extends readonly [string, ...string[]]>(values: T, description: string) {
  return z.enum(values).meta({ description }).optional();
}

const user = z
  .strictObject({
    username: text('Login name.'),
    password: text(
      'base64 of the password, or its crypt(3) hash ($6$, $y$, $2b$). Hashed when a stick is built.',
    ),
    sshKeys: texts('Public keys of this user, in addition to operatingSystem.sshKey.'),
    sudo: flag('May become root without a password; true if left out.'),
    groups: texts('Further groups.'),
    shell: text('Login shell, /bin/bash.'),
  })
  .meta({ required: ['username'] });

const networkInterface = z.strictObject({
  mac: text('MAC address of the card. Left out: the first card with a link.'),
  dhcp: flag('Asks a DHCP server; true where no address is given.'),
  address: text('Static address with prefix length: 192.0.2.10/24.'),
  gateway: text('Default gateway.'),
  dns: texts('DNS servers.'),
  searchDomains: texts('DNS search domains.'),
  vlan: number('VLAN id of the addresses above; the card itself then has none.'),
  mtu: number('MTU.'),
});

const writeFile = z
  .strictObject({
    path: text('Absolute path.'),
    content: text('The text of the file.'),
    permissions: text('Octal, in quotes; 0644 if left out.'),
    owner: text('user or user:group; root:root if left out.'),
    append: flag('Adds to the file instead of replacing it.'),
    encoding: oneOf(['base64', 'gzip+base64'], 'How content is encoded; plain text if left out.'),
  })
  .meta({ required: ['path', 'content'] });

const operatingSystem = z.strictObject({
  hostname: text('Host name.'),
  hostType: oneOf(
    ['kubernetes', 'container', 'plain'],
    'What the node runs: K3s, Docker, or neither. kubernetes if there is a kubernetes section, else plain.',
  ),
  users: z.array(user).meta({ description: 'Who can log in.' }).optional(),
  sshKey: text('Public key for every user.'),
  proxy: z
    .strictObject({
      httpProxy: text('Proxy for http.'),
      httpsProxy: text('Proxy for https.'),
      noProxy: text('Comma-separated hosts, .suffixes, addresses and networks to reach directly.'),
    })
    .optional(),
  network: z
    .array(networkInterface)
    .meta({ description: 'Network cards. Left out: DHCP on the first card with a link.' })
    .optional(),
  ntpServers: texts('Time servers.'),
  timezone: text('Time zone: Europe/Berlin.'),
  lvmSizeGiB: number('Size of a partition for LVM (volume group lvmvg); 0 for none.'),
  hugePages: number('Huge pages of 2 MiB to reserve at every boot.'),
  services: z
    .strictObject({
      enable: texts('Units to enable and start.'),
      disable: texts('Units to disable and stop.'),
    })
    .optional(),
  writeFiles: z.array(writeFile).meta({ description: 'Files on the node.' }).optional(),
  runCommands: z
    .array(z.union([z.string(), z.array(z.string())]))
    .meta({ description: 'Commands at first boot: a shell line, or a list of words.' })
    .optional(),
});

const disk = z.strictObject({
  serial: text('Serial number; * stands for anything.'),
  wwn: text('World wide name with its prefix: eui.…, naa.…'),
  model: text('Model; * stands for anything.'),
  link: text('A link below /dev/disk: by-id/…, by-path/…; * stands for anything.'),
  bus: oneOf(['nvme', 'sata', 'scsi', 'sas', 'virtio', 'mmc', 'ide', 'usb'], 'How the disk is attached.'),
  minSizeGiB: number('Smallest size.'),
  maxSizeGiB: number('Largest size.'),
  rotational: flag('true: only spinning disks; false: only solid state.'),
  pick: oneOf(
    ['only', 'smallest', 'largest'],
    'What to do if several disks match: refuse (only, the default), or take the smallest or largest.',
  ),
  wipeOthers: flag('Also erases every other internal disk. false if left out.'),
});

const image = z
  .strictObject({
    file: text('The operating system image, relative to this file: raw, gz, xz, zst, qcow2.'),
    url: text('Where to fetch the image when a stick is built.'),
    sha256: text('SHA-256 of the image file. Computed when a stick is built if left out.'),
    profile: oneOf(
      ['generic', 'emt'],
      'emt: Edge Microvisor Toolkit (immutable; config below /etc/cloud/cloud.cfg.d). generic: any image with cloud-init.',
    ),
    protection: oneOf(
      ['none', 'verity', 'encryption'],
      'How the system is protected on its disk, with profile emt: verity (default) seals the root, encryption also encrypts it with a key in the TPM, none leaves the image as it is.',
    ),
    k3sVersion: text('The K3s version inside the image or in artifacts.'),
    artifacts: text(
      'A folder, relative to this file, whose files go to /opt of the node: k3s, install.sh, images.',
    ),
  })
  .meta({ description: 'What is written to the disk.' });

const install = z.strictObject({
  confirm: oneOf(
    ['countdown', 'key', 'none'],
    'Before a disk is overwritten: count down (default), wait for a key, or neither.',
  ),
  countdownSeconds: number('Length of the countdown, 10.'),
  after: oneOf(['reboot', 'poweroff'], 'What the machine does when the installation is complete.'),
});

const match = z.union([
  z.literal('default'),
  z.strictObject({
    serial: text('Serial number.'),
    uuid: text('SMBIOS UUID.'),
    mac: text('MAC address of any card.'),
  }),
]);

const sections = {
  operatingSystem: operatingSystem
    .meta({ description: 'Users, network and everything else of the system.' })
    .optional(),
  kubernetes: kubernetesSection.optional(),
  disk: disk.meta({ description: 'The disk to install to.' }).optional(),
  install: install.meta({ description: 'How the installation behaves.' }).optional(),
};

const nodeEntry = z
  .strictObject({
    match: match
      .meta({ description: 'Which machine, by serial, UUID or MAC; or "default" for any other.' })
      .optional(),
    refuse: flag('Installs nothing on this machine.'),
    ...sections,
  })
  .meta({ required: ['match'] });

export const configSchema = z
  .strictObject({
    version: z
      .union([z.literal('1.0'), z.literal(1)])
      .meta({ description: 'Version of this format: 1.0.' })
      .optional(),
    ...sections,
    image: image.optional(),
    nodes: z
      .array(nodeEntry)
      .meta({
        description: 'What is different on single machines: maps are merged, lists and values replaced.',
      })
      .optional(),
  })
  .meta({
    title: 'Kindling standalone configuration',
    required: ['version', 'operatingSystem'],
  });

export type Config = z.infer<typeof configSchema>;
export type NodeEntry = z.infer<typeof nodeEntry>;
export type NodeMatch = z.infer<typeof match>;
export type OperatingSystem = z.infer<typeof operatingSystem>;
export type NetworkInterface = z.infer<typeof networkInterface>;
export type User = z.infer<typeof user>;

/** The JSON Schema that editors use; `kindling standalone schema` prints it. */
export function jsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configSchema, { io: 'input' }) as Record<string, unknown>;
}
