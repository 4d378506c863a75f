import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';

/** A certificate that signs itself, for an address of this machine, or a name: server and CA in one. */
export async function makeCertificate(address: string): Promise<{ key: string; cert: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kindling-cert-'));
  try {
    const [key, cert] = [path.join(folder, 'key'), path.join(folder, 'cert')];
    await execa('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...[
        '-subj',
        '/CN=test',
        '-addext',
        `subjectAltName=${isIP(address) ? 'IP' : 'DNS'}:${address}`,
        '-keyout',
        key,
        '-out',
        cert,
      ],
    ]);
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
