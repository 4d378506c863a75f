import { execFileSync } from 'node:child_process';

/** An image with busybox as its system; built with the real tar, so that our reader meets a foreign writer. */
export function busyboxLayer(): Buffer {
  const script =
    'd=$(mktemp -d) && mkdir -p $d/bin && cp /bin/busybox $d/bin/ && for n in sh echo cat ls sleep touch env id; do ln -s busybox $d/bin/$n; done && tar -C $d -czf - . && rm -r $d';
  return execFileSync('sh', ['-c', script], { maxBuffer: 64 << 20 });
}
