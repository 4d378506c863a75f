import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { openingStages } from '../../formats/partition-table/doors.ts';
import { encodeGpt, type Piece } from '../../formats/partition-table/gpt-encode.ts';
import type { Profile } from '../../initrd/index.ts';
import { KindlingError } from '../../protocol/error.ts';
import {
  encodePayloadHeader,
  encodeStickKey,
  PAYLOAD_ALIGNMENT,
  STICK_LABELS,
  type StickManifest,
} from '../../protocol/stick.ts';
import { run } from '../../system/run.ts';
import { hashPasswords } from '../cloud-init/hash-passwords.ts';
import type { Config } from '../config/schema.ts';
import type { Validation } from '../config/validate.ts';
import type { BootFiles } from './boot-files.ts';
import { makeFatImage } from './fat-image.ts';
import { placeFiles, planLayout, STICK_SECTOR_BYTES, type StickLayout } from './layout.ts';
import { collectPayload, type PayloadFile } from './payload-files.ts';
import { microOsFor, stickMachines } from './stick-machines.ts';
import { inspectTarget, refuseUnsafeTarget } from './target.ts';
import { type Medium, type Region, shutStick, writeRegions, writeStages } from './write-stick.ts';

export interface StickRequest {
  validation: Validation;
  configFile: string;
  /** A block device, or an image file that is made. */
  target: string;
  privateKeyPem?: string | undefined;
  kernelArguments?: string | undefined;
  createdBy: string;
  /** Makes the files of the boot partition for these kernel arguments. */
  bootFiles: (kernelArguments: string, profile: Profile) => Promise<BootFiles>;
  say: (progress: string) => void;
}

export interface StickSummary {
  stickId: string;
  totalBytes: number;
  publicKey: string;
  files: number;
  machines: number;
}

/** 1 payload  2 machines  3 boot files  4 layout  5 refuse or go on  6 manifest, signed  7 write and read back, table last */
export async function buildStick(request: StickRequest): Promise<StickSummary> {
  const { validation, say } = request;
  const work = await mkdtemp(join(tmpdir(), 'kindling-stick-'));
  try {
    say('hashing the image');
    const collected = await collectPayload(validation.config.image ?? {}, dirname(request.configFile), work);
    const { image, manifest: imageManifest, artifacts } = collected;
    const payload = [image, ...(imageManifest ? [imageManifest.file] : []), ...artifacts];
    const privateKey = stickKey(request.privateKeyPem);
    const manifest: StickManifest = {
      stickId: randomUUID(),
      createdAt: new Date().toISOString(),
      createdBy: request.createdBy,
      files: [],
      image: image.name,
      ...(imageManifest ? { imageManifestRoot: imageManifest.root } : {}),
      machines: await stickMachines(
        validation.machines,
        artifacts.map(({ name }) => name),
      ),
    };
    const { files, payloadBytes } = placeFiles(payload.map(withoutSource), manifestRoom(manifest, payload));
    manifest.files = files;

    say('Micro-OS');
    const bootGuid = randomUUID();
    const publicKey = encodeStickKey(createPublicKey(privateKey));
    const boot = await request.bootFiles(
      kernelArguments(manifest.stickId, publicKey, bootGuid, request.kernelArguments),
      microOsFor(manifest.machines),
    );
    const guids = [bootGuid, randomUUID(), randomUUID()];
    const sizes = { bootFilesBytes: await bytesOf(boot), payloadBytes };
    const layout = planLayout(sizes, () => guids.shift() ?? randomUUID());
    const target = await inspectTarget(request.target);
    const sources = [request.configFile, ...payload.map(({ source }) => source)];
    refuseUnsafeTarget(target, layout.totalBytes, sources);

    const diskBytes = target.kind === 'device' ? target.sizeBytes : layout.totalBytes;
    const header = encodePayloadHeader(manifest, privateKey);
    const images = await fileSystems(work, layout, boot, await peopleFiles(validation.config));
    const table = encodeGpt({
      diskGuid: manifest.stickId,
      sectorBytes: STICK_SECTOR_BYTES,
      sizeBytes: diskBytes,
      partitions: [layout.boot, layout.people, layout.payload],
      bootCode: boot.mbrCode,
    });
    // An old table goes first: a stick that is pulled out half-way must not look like one that is ready (decision 103).
    const oldTable = tableRegions('old table', blankPieces(table));
    const contents: Region[] = [
      { name: 'boot partition', offset: layout.boot.startBytes, source: { file: images.boot } },
      { name: 'partition for people', offset: layout.people.startBytes, source: { file: images.people } },
      ...payload.map(({ name, source }, index) => ({
        name,
        offset: layout.payload.startBytes + (files[index]?.offset ?? 0),
        source: { file: source },
      })),
      { name: 'manifest', offset: layout.payload.startBytes, source: header },
    ];
    const isDevice = target.kind === 'device';
    const fresh: Medium = isDevice ? { kind: 'device' } : { kind: 'new-file', sizeBytes: diskBytes };
    const existing: Medium = { kind: isDevice ? 'device' : 'file' };
    await shutStick(request.target, fresh, diskBytes);
    await writeRegions(request.target, existing, [...oldTable, ...contents], say);
    say('writing table');
    const pieces = table.map(({ offset: position, bytes }) => ({ position, bytes }));
    const opening = openingStages(pieces, diskBytes, STICK_SECTOR_BYTES);
    await writeStages(request.target, existing, opening, tableRegions('table', table), say);
    return {
      stickId: manifest.stickId,
      totalBytes: layout.totalBytes,
      publicKey,
      files: files.length,
      machines: manifest.machines.length,
    };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function tableRegions(name: string, pieces: readonly Piece[]): (Region & { source: Buffer })[] {
  return pieces.map(({ offset, bytes }) => ({
    name: offset === 0 ? name : `${name} (end)`,
    offset,
    source: bytes,
  }));
}

function blankPieces(pieces: readonly Piece[]): Piece[] {
  return pieces.map(({ offset, bytes }) => ({ offset, bytes: Buffer.alloc(bytes.length) })).reverse();
}

function stickKey(pem: string | undefined): KeyObject {
  if (pem === undefined) return generateKeyPairSync('ed25519').privateKey;
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new KindlingError('KND_USAGE', `the key is of type ${key.asymmetricKeyType}, not Ed25519`, {
    hint: 'Make one with: openssl genpkey -algorithm ed25519',
  });
}

/** What tells the agent that it was started from a stick, from which, and whose signature it has to bear. */
function kernelArguments(stickId: string, publicKey: string, bootGuid: string, more = ''): string {
  const own = `kindling.stick=${stickId} kindling.stick_key=${publicKey} kindling.medium=${bootGuid}`;
  return `${own} console=tty0 console=ttyS0,115200 quiet ${more}`.trim();
}

/** The manifest grows by the places of the files, which are known only when its size is: leave room. */
function manifestRoom(manifest: StickManifest, payload: PayloadFile[]): number {
  return JSON.stringify(manifest).length * 2 + payload.length * 512 + PAYLOAD_ALIGNMENT;
}

function withoutSource({ name, size, sha256 }: PayloadFile) {
  return { name, size, sha256 };
}

async function bytesOf({ files }: BootFiles): Promise<number> {
  let sum = 0;
  for (const { source } of files)
    sum += typeof source === 'string' ? (await stat(source)).size : source.length;
  return sum;
}

async function fileSystems(work: string, layout: StickLayout, boot: BootFiles, people: BootFiles['files']) {
  const images = { boot: join(work, 'boot.img'), people: join(work, 'people.img') };
  await makeFatImage(images.boot, layout.boot, 'KNDBOOT', boot.files);
  await run(boot.syslinux, ['--install', images.boot], {
    env: { MTOOLS_SKIP_CHECK: '1' },
    foreground: true,
  });
  await makeFatImage(images.people, layout.people, STICK_LABELS.people, people);
  return images;
}

/** What a person sees who opens the stick on another computer. */
async function peopleFiles(config: Config): Promise<BootFiles['files']> {
  const readable = stringify(await hashPasswords(config), { lineWidth: 0 });
  const note = [
    'This is a Kindling installer stick.',
    '',
    'Start a machine from it, and the operating system is installed on its disk.',
    'config.yaml    what is installed (a copy: to change it, write the stick again)',
    'status/        one file for each machine that was installed, or that failed and why',
    'logs/          what the installer said',
    '',
  ].join('\r\n');
  return [
    { path: 'README.txt', source: Buffer.from(note) },
    { path: 'config.yaml', source: Buffer.from(readable) },
    { path: 'status/README.txt', source: Buffer.from('One file per machine.\r\n') },
    { path: 'logs/README.txt', source: Buffer.from('One file per machine.\r\n') },
  ];
}
