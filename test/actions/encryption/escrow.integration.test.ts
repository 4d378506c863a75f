import { createServer, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { newDiskKeys } from '../../../actions/encryption/disk-keys.ts';
import { type EscrowRequest, escrowRecoveryKey, requireEscrow } from '../../../actions/encryption/escrow.ts';
import { makeCertificate } from '../registry/test-certificate.ts';

const keys = newDiskKeys();
const disk = { path: '/dev/sda', sizeBytes: 1, serial: 'S1' };
const { signal } = new AbortController();
let server: Server | undefined;
afterEach(() => server?.close());

async function serve(statuses: number[], tls?: { key: string; cert: string }) {
  const received: string[] = [];
  const handler: Parameters<typeof createServer>[1] = async (request, response) => {
    received.push(await text(request));
    response.writeHead(statuses[Math.min(received.length, statuses.length) - 1] ?? 500).end();
  };
  const started = tls ? createHttps(tls, handler) : createServer(handler);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  const { port } = started.address() as { port: number };
  return { received, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/secret-path` };
}

const request = (url: string | undefined, more: Partial<EscrowRequest> = {}): EscrowRequest => ({
  KINDLING_ESCROW_URL: url,
  KINDLING_ESCROW: 'required',
  TLS_CA_CERT: undefined,
  ...more,
});

describe('the escrow of a recovery key', () => {
  it('hands over the key, its id and the disk', async () => {
    const { url, received } = await serve([201]);
    await escrowRecoveryKey(request(url), keys, disk, signal);
    expect(JSON.parse(received[0] ?? '')).toEqual({
      keyId: keys.keyId,
      recoveryKey: keys.recoveryKey,
      disk,
    });
  });

  it('tries again when the other side is busy', async () => {
    const { url, received } = await serve([503, 200]);
    await escrowRecoveryKey(request(url), keys, disk, signal);
    expect(received).toHaveLength(2);
  });

  it('fails at once when it is refused, and tells neither key nor address', async () => {
    const { url } = await serve([403]);
    const failure = await escrowRecoveryKey(request(url), keys, disk, signal).catch((thrown) => thrown);
    expect(failure).toMatchObject({ code: 'KND_ESCROW_FAILED' });
    expect(`${failure.message} ${JSON.stringify(failure.evidence ?? {})}`).not.toMatch(
      new RegExp(`${keys.recoveryKey}|secret-path`),
    );
  });

  it('trusts the CA it is given, as PEM or Base64, and no other', async () => {
    const { key, cert } = await makeCertificate('127.0.0.1');
    const { url, received } = await serve([200], { key, cert });
    await escrowRecoveryKey(request(url, { TLS_CA_CERT: cert }), keys, disk, signal);
    await escrowRecoveryKey(
      request(url, { TLS_CA_CERT: Buffer.from(cert).toString('base64') }),
      keys,
      disk,
      signal,
    );
    expect(received).toHaveLength(2);
    const abort = AbortSignal.timeout(3_000);
    await expect(escrowRecoveryKey(request(url), keys, disk, abort)).rejects.toThrow();
    expect(received).toHaveLength(2);
  });

  it('is asked for before anything is touched, unless it is given up expressly', () => {
    expect(() => requireEscrow(request(undefined))).toThrowError(
      expect.objectContaining({ code: 'KND_ESCROW_NONE' }),
    );
    expect(() => requireEscrow(request(undefined, { KINDLING_ESCROW: 'none' }))).not.toThrow();
  });
});
