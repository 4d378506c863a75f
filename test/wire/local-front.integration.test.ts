import { createSecureContext } from 'node:tls';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveConfig } from '../../agent/config/resolve-config.ts';
import type { Network } from '../../agent/connection/network.ts';
import { type LocalFront, startLocalFront } from '../../agent/local-front/local-front.ts';
import { fetchText } from '../../net/http.ts';
import { parseKernelArguments } from '../../system/kernel-arguments.ts';
import { type Keycloak, startKeycloak } from './reference/keycloak.ts';
import { createTestCa } from './reference/test-ca.ts';

let site: Keycloak;
let network: Network;
let front: LocalFront;
let accessToken: string;
let renewals: string[];

beforeEach(async () => {
  const ca = await createTestCa();
  site = await startKeycloak(await ca.issue());
  site.valid.add('access-1').add('access-2');
  site.releaseToken = 'release-1';
  site.files = {
    '/tink-stack/vmlinuz-x86_64': 'kernel',
    '/files-edge-orch/repository/image.raw.gz': 'image',
    '/v2/edge-orch/manifests/1': 'manifest',
  };
  network = { trust: createSecureContext({ ca: ca.pem }), proxies: {} };
  accessToken = 'access-1';
  renewals = [];
  const { config } = resolveConfig({
    flags: ['tink-stack', 'release-server', 'registry-server'].map((name) => ({
      name,
      value: site.authority,
    })),
    kernel: parseKernelArguments(''),
    env: [],
  });
  front = await startLocalFront({
    config,
    network,
    log: pino({ level: 'silent' }),
    token: async (kind) => (kind === 'access' ? accessToken : 'release-1'),
    renewToken: async (kind, rejected) => {
      renewals.push(`${kind} ${rejected}`);
      accessToken = 'access-2';
    },
  });
});

afterEach(async () => {
  await front.close();
  await site.close();
});

/** What an action would fetch if its variable held this address. */
function fetchAs(address: string) {
  const { URL: url = '' } = front.rewrite({ URL: address });
  return fetchText(network, url.startsWith('http') ? url : `http://${url}`);
}

describe('trap 14: the local front for EMF’s 127.0.0.1 addresses', () => {
  it('serves /tink-stack/ with the access token', async () => {
    expect(await fetchAs('http://127.0.0.1/tink-stack/vmlinuz-x86_64')).toMatchObject({
      status: 200,
      body: 'kernel',
    });
    expect(site.fileRequests.at(-1)?.authorization).toBe('Bearer access-1');
  });

  it('serves /files-edge-orch/ with the release token', async () => {
    const found = await fetchAs('http://localhost/files-edge-orch/repository/image.raw.gz');
    expect(found).toMatchObject({ status: 200, body: 'image' });
    expect(site.fileRequests.at(-1)?.authorization).toBe('Bearer release-1');
  });

  it('serves localhost:7443 as the registry with the release token', async () => {
    expect(await fetchAs('localhost:7443/v2/edge-orch/manifests/1')).toMatchObject({
      status: 200,
      body: 'manifest',
    });
  });

  it('gets a new token when the old one is not accepted', async () => {
    site.valid.delete('access-1');
    expect(await fetchAs('http://127.0.0.1/tink-stack/vmlinuz-x86_64')).toMatchObject({ status: 200 });
    expect(renewals).toEqual(['access access-1']);
  });

  it.each(['/etc/passwd', '/tink-stack/../token', '/tink-stack/%2e%2e/token', '/'])(
    'does not serve %s',
    async (path) => {
      const { status } = await fetchText(network, `http://127.0.0.1:${front.ports.files}${path}`);
      expect(status).toBe(404);
      expect(site.fileRequests).toEqual([]);
    },
  );

  it('says which rung broke when the site cannot be reached', async () => {
    await site.close();
    const found = await fetchAs('http://127.0.0.1/tink-stack/vmlinuz-x86_64');
    expect(found.status).toBe(502);
    expect(found.body).toContain('KND_CONNECT_TCP');
  });
});
