import { type KeyObject, sign, verify } from 'node:crypto';
import { KindlingError } from './error.ts';
import { decodePublicKey } from './public-key.ts';

/*
 * The payload partition of a standalone stick: a header, the manifest as JSON, one Ed25519 signature over the manifest,
 * then the files, each from a multiple of 1 MiB on. The manifest has the hash of every file, so the one signature covers all.
 *
 *   offset  bytes
 *        0      8  "KNDSTICK"
 *        8      4  version of this format, little-endian: 1
 *       12      4  length of the manifest, little-endian
 *       16     64  signature over the domain line and the manifest
 *       80      –  the manifest, UTF-8
 */
const MAGIC = 'KNDSTICK';
const OFFSET = { version: 8, manifestBytes: 12, signature: 16, manifest: 80 } as const;
const FORMAT = 1;
export const PAYLOAD_ALIGNMENT = 1024 * 1024;
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

/** Names of the stick's partitions, and the GPT type of the payload, which no other software uses. */
export const STICK_LABELS = {
  boot: 'kindling-boot',
  people: 'KINDLING',
  payload: 'kindling-payload',
} as const;
export const PAYLOAD_TYPE_GUID = '6b696e64-6c69-4e67-8001-7061796c6f61';

/** What only the installer knows, because only it sees the machine; it replaces these words in cloud-init's configuration. */
export const FIRST_NIC_MAC = '@FIRST_NIC_MAC@';
export const NODE_ID = '@NODE_ID@';

/** What the files of a machine are called in the folders status and logs of the stick. */
export function stickFileName(nodeId: string): string {
  return nodeId.replace(/[^A-Za-z0-9._-]/g, '_');
}

/** The entry of the stick's BIOS menu that starts a disk of the machine; takes `guid=` or `mbr=` as its argument. */
export const BIOS_DISK_ENTRY = 'disk';

/** A signature made for something else can never pass for one of a stick. */
const DOMAIN = Buffer.from('kindling-stick-manifest\n');

export interface StickManifest {
  stickId: string;
  createdAt: string;
  createdBy: string;
  files: StickFile[];
  /** Name of the file that is the operating system image. */
  image: string;
  /** Root of the manifest of a chunked image, whose file lies beside it: writing it goes on after a power cut. */
  imageManifestRoot?: string;
  machines: StickMachine[];
}

export interface StickFile {
  name: string;
  /** From the start of the partition. */
  offset: number;
  size: number;
  sha256: string;
}

export type StickMatch = 'default' | { serial?: string; uuid?: string; mac?: string };

/** What one kind of machine gets. */
export interface StickMachine {
  match: StickMatch;
  refuse: boolean;
  /** Changes with the configuration; part of cloud-init's instance id. */
  configId: string;
  /** For KINDLING_DISK. */
  diskSelector: string;
  wipeOthers: boolean;
  confirm: 'countdown' | 'key' | 'none';
  countdownSeconds: number;
  after: 'reboot' | 'poweroff';
  /** For the action cloud-init. */
  userData: string;
  networkConfig: string;
  hostname?: string;
  targetKind: 'mutable' | 'immutable';
  /** For the action fde_dmv, if the image's root is to be sealed. */
  seal?: { isEncrypted: boolean; lvmGigabytes: number };
  /** For the action lvm-partition, on any other image. */
  lvmGigabytes?: number;
  /** Files of the payload that go to the target. */
  artifacts: { name: string; path: string; mode: string }[];
}

export function encodePayloadHeader(manifest: StickManifest, privateKey: KeyObject): Buffer {
  const text = Buffer.from(JSON.stringify(manifest));
  const header = Buffer.alloc(OFFSET.manifest);
  header.write(MAGIC, 'latin1');
  header.writeUInt32LE(FORMAT, OFFSET.version);
  header.writeUInt32LE(text.length, OFFSET.manifestBytes);
  sign(null, Buffer.concat([DOMAIN, text]), privateKey).copy(header, OFFSET.signature);
  return Buffer.concat([header, text]);
}

/** How many bytes from the start of the partition have to be read to have the whole manifest. */
export function payloadHeaderBytes(start: Buffer): number {
  if (start.length < OFFSET.manifest || start.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new KindlingError(
      'KND_STICK_INVALID',
      'the payload partition does not start like one of a Kindling stick',
    );
  }
  const version = start.readUInt32LE(OFFSET.version);
  const length = start.readUInt32LE(OFFSET.manifestBytes);
  if (version !== FORMAT || length > MAX_MANIFEST_BYTES) {
    throw new KindlingError(
      'KND_STICK_INVALID',
      `the payload is of version ${version}; this program knows ${FORMAT}`,
    );
  }
  return OFFSET.manifest + length;
}

/** The manifest, only if this key signed it. */
export function decodePayloadHeader(header: Buffer, publicKey: KeyObject): StickManifest {
  const text = header.subarray(OFFSET.manifest, payloadHeaderBytes(header));
  const signature = header.subarray(OFFSET.signature, OFFSET.manifest);
  if (!verify(null, Buffer.concat([DOMAIN, text]), publicKey, signature)) {
    throw new KindlingError(
      'KND_STICK_SIGNATURE',
      'the stick’s manifest was changed, or signed with another key',
    );
  }
  return JSON.parse(text.toString()) as StickManifest;
}

export { encodePublicKey as encodeStickKey } from './public-key.ts';

export function decodeStickKey(text: string): KeyObject {
  const key = decodePublicKey(text);
  if (key) return key;
  throw new KindlingError('KND_STICK_SIGNATURE', 'kindling.stick_key= is not an Ed25519 public key');
}
