import { CONSENT_PARAMETERS } from '../disks/plan.ts';

/** Which disk: the same two variables for every action that writes to a whole disk. */
const TARGET_PARAMETERS = {
  DEST_DISK: {
    type: 'absolute-path',
    description: 'The disk: /dev/sda, or better a link that stays, /dev/disk/by-id/… or by-path/…',
  },
  KINDLING_DISK: {
    type: 'text',
    description:
      'A disk selector instead: terms that must all hold, such as serial=S5G*, wwn=…, model="…*", vendor=…, bus=nvme, path=…, size>=100G, ssd, hdd, empty, network (for a disk over the network); and smallest or largest where several fit',
  },
  ...CONSENT_PARAMETERS,
} as const;

/** The environment contract of image2disk: Tinkerbell's variables, EMF's, and ours (KINDLING_…). */
export const IMAGE_PARAMETERS = {
  IMG_URL: { type: 'url', required: true, description: 'Where the image is; http or https' },
  ...TARGET_PARAMETERS,
  SHA256: {
    type: 'text',
    pattern: /^(sha256:)?[0-9a-fA-F]{64}$/,
    description:
      'Hash of the file as it is downloaded; of the image itself, too, if the server compresses it on the way',
  },
  TLS_CA_CERT: { type: 'text', description: 'Base64 of PEM certificates that replace the system’s roots' },
  RETRY_ENABLED: { type: 'boolean', default: true, description: 'Continue a broken download' },
  RETRY_DURATION_MINUTES: {
    type: 'integer',
    default: 10,
    min: 0,
    max: 10_000,
    description: 'How long to go on trying since the first failure after the last good byte',
  },
  PROGRESS_INTERVAL_SECONDS: {
    type: 'integer',
    default: 3,
    description: 'Accepted; progress is reported every second',
  },
  TEXT_LOGGING: { type: 'boolean', default: false, description: 'Accepted; logs go to the agent' },
  HTTP_PROXY: { type: 'text', description: 'Proxy for http addresses' },
  HTTPS_PROXY: { type: 'text', description: 'Proxy for https addresses' },
  NO_PROXY: { type: 'text', description: 'Hosts, domains and networks that are reached without the proxy' },
  http_proxy: { type: 'text', description: 'As HTTP_PROXY, which wins' },
  https_proxy: { type: 'text', description: 'As HTTPS_PROXY, which wins' },
  no_proxy: { type: 'text', description: 'As NO_PROXY, which wins' },
  KINDLING_BEARER_TOKEN: {
    type: 'text',
    secret: true,
    description:
      'Sent to the server of IMG_URL as a bearer token, and to no mirror of another host; a user and a password go into IMG_URL',
  },
  KINDLING_BEARER_ORIGINS: {
    type: 'text',
    description:
      'Addresses of other servers (mirrors, of a manifest or a signature) that get the token too, separated by blanks',
  },
  KINDLING_MIRRORS: { type: 'text', description: 'More addresses of the same image, separated by blanks' },
  KINDLING_MANIFEST: {
    type: 'url',
    description: 'Manifest of a chunked image; by default <IMG_URL>.manifest is looked for',
  },
  KINDLING_MANIFEST_ROOT: {
    type: 'text',
    pattern: /^[0-9a-fA-F]{64}$/,
    description: 'The root hash the manifest must have',
  },
  KINDLING_MANIFEST_VERSION: {
    type: 'integer',
    min: 1,
    description:
      'The lowest version that the manifest may have: an older image is refused, even if it is signed',
  },
  KINDLING_IMAGE_KEYS: {
    type: 'text',
    description:
      'Ed25519 public keys, PEM or Base64 of it; if set, one of them must have signed the image: its manifest, or a plain image by <IMG_URL>.sig',
  },
  KINDLING_SIGNATURE: { type: 'url', description: 'Signature of a plain image; by default <IMG_URL>.sig' },
  KINDLING_SHA512: {
    type: 'text',
    pattern: /^(sha512:)?[0-9a-fA-F]{128}$/,
    description: 'SHA-512 of the file as it is downloaded',
  },
  KINDLING_LENGTH: { type: 'integer', min: 1, description: 'Bytes of the file as it is downloaded' },
  KINDLING_RAW_SHA256: {
    type: 'text',
    pattern: /^(sha256:)?[0-9a-fA-F]{64}$/,
    description: 'SHA-256 of the raw image, after decompression',
  },
  KINDLING_ALLOW_UNKNOWN_END: {
    type: 'boolean',
    default: false,
    description:
      'Believe a server that gives neither a length nor an end of the file, where no hash and no length is given either',
  },
  KINDLING_RAW_LENGTH: { type: 'integer', min: 1, description: 'Bytes of the raw image' },
  KINDLING_MODE: {
    type: 'choice',
    choices: ['write', 'delta', 'repair'],
    default: 'write',
    description:
      'Of a chunked image: write all of it; delta: fetch only what the disk does not hold already; repair: the same, and tell what differed',
  },
  KINDLING_NEIGHBOURS: {
    type: 'text',
    description:
      'Addresses (http://10.0.0.7:7070 …) of the nodes that get this chunked image at the same time, this one among them: they serve verified chunks to each other. Off without it',
  },
  KINDLING_NEIGHBOURS_URL: {
    type: 'url',
    secret: true,
    description:
      'Instead of a list: where Kindling’s orchestrator takes this node’s word that it serves chunks, and names the others; the address is its credential',
  },
  KINDLING_NEIGHBOUR_PORT: {
    type: 'integer',
    default: 7070,
    min: 0,
    max: 65_535,
    description:
      'Where this node serves its chunks when the orchestrator names the neighbors; 0: any free port',
  },
  KINDLING_NEIGHBOUR_LINGER_SECONDS: {
    type: 'integer',
    default: 60,
    min: 0,
    max: 3600,
    description: 'How long to go on serving neighbors at most, once this node’s own image is done',
  },
  KINDLING_READ_BACK: {
    type: 'choice',
    choices: ['none', 'sample', 'all'],
    default: 'none',
    description: 'Read the disk back after writing and compare',
  },
} as const;
