import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WriteImageRequest } from '../../actions/image-writer/index.ts';
import type { Writer } from './bundle-writer.ts';
import type { Workspace } from './workspace.ts';

export type Format = 'zst' | 'gz' | 'xz' | 'bz2' | 'qcow2' | 'raw' | 'chunked';

/** Slow formats have the smaller image, so that the whole set ends in a quarter of an hour. */
export type ImageName = 'disk.raw' | 'unit.raw';

function imageOf(format: Format): ImageName {
  return format === 'gz' || format === 'xz' || format === 'bz2' ? 'unit.raw' : 'disk.raw';
}

/** One way to get an image onto a disk: a shell command, the same for us and for the peers. */
export interface Case {
  name: string;
  format: Format;
  isOurs: boolean;
  /** The image it must equal afterwards. */
  image: ImageName;
  command: (target: string) => string;
}

const DIRECT = 'bs=4M oflag=direct iflag=fullblock conv=fsync status=none';
const BUFFERED = 'bs=4M iflag=fullblock conv=fsync status=none';

/** ironic-python-agent, StreamRawImage: pieces of 1 MiB through the page cache, hashed on the way, synced at the end. */
const IRONIC_STREAM = `import hashlib, os, sys, urllib.request
h = hashlib.sha256()
with urllib.request.urlopen(sys.argv[1]) as r, open(sys.argv[2], "wb+") as f:
    while True:
        b = r.read(1 << 20)
        if not b: break
        f.write(b); h.update(b)
    f.flush(); os.fsync(f.fileno())`;

/** Our program, then for each format the peers people use today. */
export function listCases({ url, folder }: Pick<Workspace, 'url' | 'folder'>, ours: Writer): Case[] {
  const us = (
    format: Format,
    file: string,
    extra: { name: string; expected: WriteImageRequest['expected'] } | undefined = undefined,
  ): Case => ({
    name: `kindling ${format}${extra ? ` ${extra.name}` : ''}`,
    format,
    isOurs: true,
    image: imageOf(format),
    command: (target) =>
      ours({
        sources: [`${url}/${file}`],
        target,
        ...(extra?.expected ? { expected: extra.expected } : {}),
      }),
  });
  const peer = (name: string, format: Format, command: Case['command']): Case => ({
    name,
    format,
    isOurs: false,
    image: imageOf(format),
    command,
  });
  const curl = (file: string) => `curl -sf ${url}/${file}`;
  const sha256 = readFileSync(join(folder, 'disk.raw.zst.sha256'), 'utf8').trim();
  return [
    us('zst', 'disk.raw.zst'),
    us('zst', 'disk.raw.zst', { name: '+sha256', expected: { sha256 } }),
    peer(
      'image2disk’s way: curl|zstd|dd 32k',
      'zst',
      (t) => `${curl('disk.raw.zst')} | zstd -dc | dd of=${t} bs=32k conv=fsync status=none`,
    ),
    peer('curl|zstd|dd direct', 'zst', (t) => `${curl('disk.raw.zst')} | zstd -dc | dd of=${t} ${DIRECT}`),
    peer(
      'curl|zstd|dd buffered',
      'zst',
      (t) => `${curl('disk.raw.zst')} | zstd -dc | dd of=${t} ${BUFFERED}`,
    ),
    peer('bmaptool', 'zst', (t) => `bmaptool -q copy --bmap ${folder}/disk.bmap ${url}/disk.raw.zst ${t}`),
    us('chunked', 'chunked.zst'),
    us('gz', 'unit.raw.gz'),
    peer('wget|gunzip|dd', 'gz', (t) => `wget -qO- ${url}/unit.raw.gz | gunzip -c | dd of=${t} ${BUFFERED}`),
    peer('curl|pigz|dd direct', 'gz', (t) => `${curl('unit.raw.gz')} | pigz -dc | dd of=${t} ${DIRECT}`),
    us('qcow2', 'disk.qcow2'),
    // several requests in flight: with writes in order it always waits for ever on qemu-img 7.2's curl driver, with -W now and then
    peer(
      'qemu-img convert -W over http',
      'qcow2',
      (t) => `timeout 60 qemu-img convert -W -n -t none -f qcow2 -O raw ${url}/disk.qcow2 ${t}`,
    ),
    peer(
      'qemu-img convert -m 1 over http',
      'qcow2',
      (t) => `qemu-img convert -m 1 -n -t none -f qcow2 -O raw ${url}/disk.qcow2 ${t}`,
    ),
    peer(
      'ironic: download, qemu-img',
      'qcow2',
      (t) =>
        `${curl('disk.qcow2')} -o ${folder}/ipa.tmp && qemu-img convert -n -t directsync -S 0 -W -f qcow2 -O host_device ${folder}/ipa.tmp ${t} && rm ${folder}/ipa.tmp`,
    ),
    us('raw', 'disk.raw'),
    peer('ironic: stream raw, sha256', 'raw', (t) => `python3 -c '${IRONIC_STREAM}' ${url}/disk.raw ${t}`),
    peer(
      'nbdcopy, nbdkit curl',
      'raw',
      (t) => `nbdcopy --flush -- [ nbdkit --exit-with-parent curl ${url}/disk.raw ] ${t}`,
    ),
    us('xz', 'unit.raw.xz'),
    peer('curl|xz|dd direct', 'xz', (t) => `${curl('unit.raw.xz')} | xz -dc | dd of=${t} ${DIRECT}`),
    peer('curl|xz -T0|dd direct', 'xz', (t) => `${curl('unit.raw.xz')} | xz -dc -T0 | dd of=${t} ${DIRECT}`),
    us('bz2', 'unit.raw.bz2'),
    peer('curl|bzip2|dd direct', 'bz2', (t) => `${curl('unit.raw.bz2')} | bzip2 -dc | dd of=${t} ${DIRECT}`),
    peer(
      'curl|lbzip2|dd direct',
      'bz2',
      (t) => `${curl('unit.raw.bz2')} | lbzip2 -dc | dd of=${t} ${DIRECT}`,
    ),
  ];
}
