import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { BuildStamp } from '../../system/build-stamp.ts';

/** No user of a host: what the program writes belongs to nobody else. */
const USER = 65_532;
const STATE = '/var/lib/kindling';
const PORTS = ['8080/tcp', '8443/tcp'];
const TYPES = {
  config: 'application/vnd.oci.image.config.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
} as const;

interface TarFile {
  name: string;
  mode: number;
  owner?: number;
  /** Undefined: a folder. */
  content?: Buffer;
}

interface Blob {
  mediaType: string;
  digest: string;
  size: number;
  content: Buffer;
}

/**
 * The program as an OCI image: one layer with the one file, in an archive that podman and skopeo load
 * (OCI image-spec 1.0: image layout, config, manifest). 1 layer  2 config  3 manifest  4 index  5 archive
 */
export async function buildOciImage(program: string, stamp: BuildStamp, output: string): Promise<string> {
  const tree = await packTar(layerFiles(await readFile(program)), stamp.time);
  const layer = toBlob(TYPES.layer, gzipSync(tree, { level: 6 }));
  const config = toJsonBlob(TYPES.config, imageConfig(stamp, digestOf(tree)));
  const manifest = toJsonBlob(TYPES.manifest, {
    schemaVersion: 2,
    mediaType: TYPES.manifest,
    config: describe(config),
    layers: [describe(layer)],
  });
  const named = {
    ...describe(manifest),
    annotations: { 'org.opencontainers.image.ref.name': imageName(stamp) },
  };
  const index = { schemaVersion: 2, mediaType: TYPES.index, manifests: [named] };
  const name = `kindling-${stamp.version}-oci.tar`;
  const files: TarFile[] = [
    { name: 'oci-layout', mode: 0o644, content: toJson({ imageLayoutVersion: '1.0.0' }) },
    { name: 'index.json', mode: 0o644, content: toJson(index) },
    ...[layer, config, manifest].map(({ digest, content }) => ({
      name: `blobs/${digest.replace(':', '/')}`,
      mode: 0o644,
      content,
    })),
  ];
  await writeFile(join(output, name), await packTar(files, stamp.time));
  return name;
}

/** The name that the image has once it is loaded. */
function imageName({ version }: BuildStamp): string {
  return `localhost/kindling:${version}`;
}

/** Nothing but the program, its state folder, and a folder for what is only passing through. */
function layerFiles(program: Buffer): TarFile[] {
  return [
    { name: 'kindling', mode: 0o755, content: program },
    { name: 'tmp', mode: 0o1777 },
    { name: 'var', mode: 0o755 },
    { name: 'var/lib', mode: 0o755 },
    { name: STATE.slice(1), mode: 0o700, owner: USER },
  ];
}

function imageConfig({ version, commit, time }: BuildStamp, layerDigest: string) {
  const created = new Date(time * 1000).toISOString();
  return {
    created,
    architecture: 'amd64',
    os: 'linux',
    config: {
      User: `${USER}:${USER}`,
      Env: ['PATH=/', `HOME=${STATE}`],
      Entrypoint: ['/kindling'],
      Cmd: ['serve', '--state', STATE],
      ExposedPorts: Object.fromEntries(PORTS.map((port) => [port, {}])),
      Volumes: { [STATE]: {} },
      WorkingDir: STATE,
      Labels: {
        'org.opencontainers.image.title': 'kindling',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.revision': commit,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
    rootfs: { type: 'layers', diff_ids: [layerDigest] },
    history: [{ created, created_by: 'npm run release' }],
  };
}

/** Every file of the commit's time, so that equal files give equal bytes. */
function packTar(files: readonly TarFile[], time: number): Promise<Buffer> {
  const tar = pack();
  for (const { name, mode, owner = 0, content } of files) {
    const header = { name, mode, uid: owner, gid: owner, mtime: new Date(time * 1000) };
    if (content) tar.entry({ ...header, type: 'file', size: content.length }, content);
    else tar.entry({ ...header, type: 'directory' });
  }
  tar.finalize();
  return buffer(tar);
}

function toJsonBlob(mediaType: string, value: unknown): Blob {
  return toBlob(mediaType, toJson(value));
}

function toBlob(mediaType: string, content: Buffer): Blob {
  return { mediaType, digest: digestOf(content), size: content.length, content };
}

function describe({ mediaType, digest, size }: Blob) {
  return { mediaType, digest, size };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function toJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
