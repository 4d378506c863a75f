import type { Workspace } from './workspace.ts';

export type Format = 'zst' | 'gz' | 'xz' | 'bz2' | 'qcow2' | 'raw' | 'chunked';

/** One way to get an image onto a disk: a shell command, the same for us and for the peers. */
export interface Case {
  name: string;
  format: Format;
  isOurs: boolean;
  /** The image it must equal afterwards. */
  image: 'disk.raw' | 'small.raw';
  command: (target: string) => string;
}

const DIRECT = 'bs=4M oflag=direct iflag=fullblock conv=fsync status=none';

/** Our program, then for each format the peers people use today. */
export function listCases({ url, folder }: Pick<Workspace, 'url' | 'folder'>, ours: string): Case[] {
  const us = (format: Format, file: string, extra = ''): Case => ({
    name: `kindling ${format}${extra ? ` ${extra}` : ''}`,
    format,
    isOurs: true,
    image: file.startsWith('small') ? 'small.raw' : 'disk.raw',
    command: (target) => `${ours} ${url}/${file} ${target} ${extra}`,
  });
  const peer = (name: string, format: Format, command: Case['command']): Case => ({
    name,
    format,
    isOurs: false,
    image: format === 'xz' || format === 'bz2' ? 'small.raw' : 'disk.raw',
    command,
  });
  const curl = (file: string) => `curl -sf ${url}/${file}`;
  return [
    us('zst', 'disk.raw.zst'),
    us('zst', 'disk.raw.zst', '+sha256'),
    peer(
      'image2disk’s way: curl|zstd|dd 32k',
      'zst',
      (t) => `${curl('disk.raw.zst')} | zstd -dc | dd of=${t} bs=32k conv=fsync status=none`,
    ),
    peer('curl|zstd|dd direct', 'zst', (t) => `${curl('disk.raw.zst')} | zstd -dc | dd of=${t} ${DIRECT}`),
    peer(
      'curl|zstd|dd buffered',
      'zst',
      (t) => `${curl('disk.raw.zst')} | zstd -dc | dd of=${t} bs=4M iflag=fullblock conv=fsync status=none`,
    ),
    peer('bmaptool', 'zst', (t) => `bmaptool -q copy --bmap ${folder}/disk.bmap ${url}/disk.raw.zst ${t}`),
    us('chunked', 'chunked.zst'),
    us('gz', 'disk.raw.gz'),
    peer(
      'wget|gunzip|dd',
      'gz',
      (t) =>
        `wget -qO- ${url}/disk.raw.gz | gunzip -c | dd of=${t} bs=4M iflag=fullblock conv=fsync status=none`,
    ),
    peer('curl|pigz|dd direct', 'gz', (t) => `${curl('disk.raw.gz')} | pigz -dc | dd of=${t} ${DIRECT}`),
    us('qcow2', 'disk.qcow2'),
    peer(
      'qemu-img convert over http',
      'qcow2',
      (t) => `qemu-img convert -n -t none -f qcow2 -O raw ${url}/disk.qcow2 ${t}`,
    ),
    peer(
      'ironic: download, qemu-img',
      'qcow2',
      (t) =>
        `${curl('disk.qcow2')} -o ${folder}/ipa.tmp && qemu-img convert -t directsync -S 0 -W -f qcow2 -O host_device ${folder}/ipa.tmp ${t}; rm ${folder}/ipa.tmp`,
    ),
    us('raw', 'disk.raw'),
    peer(
      'nbdcopy, nbdkit curl',
      'raw',
      (t) => `nbdcopy --flush -- [ nbdkit --exit-with-parent curl ${url}/disk.raw ] ${t}`,
    ),
    us('xz', 'small.raw.xz'),
    peer('curl|xz|dd direct', 'xz', (t) => `${curl('small.raw.xz')} | xz -dc | dd of=${t} ${DIRECT}`),
    peer('curl|xz -T0|dd direct', 'xz', (t) => `${curl('small.raw.xz')} | xz -dc -T0 | dd of=${t} ${DIRECT}`),
    us('bz2', 'small.raw.bz2'),
    peer('curl|bzip2|dd direct', 'bz2', (t) => `${curl('small.raw.bz2')} | bzip2 -dc | dd of=${t} ${DIRECT}`),
    peer(
      'curl|lbzip2|dd direct',
      'bz2',
      (t) => `${curl('small.raw.bz2')} | lbzip2 -dc | dd of=${t} ${DIRECT}`,
    ),
  ];
}
