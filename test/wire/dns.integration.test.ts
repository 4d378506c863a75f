import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { createDnsServer } from './reference/dns-server.ts';
import { EmfSite } from './reference/emf-site.ts';

it('DNS dead: named as such; once it is alive the agent onboards and the workflow completes', async () => {
  const dns = createDnsServer();
  const folder = mkdtempSync(join(tmpdir(), 'kindling-dns-'));
  const site = await EmfSite.start({ names: ['site.kindling.test'], actions: ['write', 'reboot'] });
  try {
    const resolver = join(folder, 'resolv.conf');
    writeFileSync(resolver, `nameserver ${dns.address}\noptions timeout:1 attempts:1\n`);
    const setup = {
      ca: site.ca.pem,
      env: {
        onboarding_stream_svc: 'site.kindling.test',
        OBM_PORT: String(site.host.port),
        KEYCLOAK_URL: site.keycloak.authority.replace('127.0.0.1', 'site.kindling.test'),
        tink_server_svc: site.host.authority.replace('127.0.0.1', 'site.kindling.test'),
      },
    };
    const program = new URL('./reference/agent-process.ts', import.meta.url).pathname;
    const start = 'mount --bind "$1" /etc/resolv.conf && exec "$2" "$3" "$4"';
    const agent = execa({ lines: true, timeout: 60_000 })('unshare', [
      ...['--mount', 'sh', '-c', start, 'sh', resolver, process.execPath, program, JSON.stringify(setup)],
    ]);
    const seen: { code?: string; executed?: string[] }[] = [];
    for await (const line of agent) {
      seen.push(JSON.parse(String(line)));
      if (seen.length === 1) await dns.start();
    }
    expect(seen[0]).toEqual({ code: 'KND_CONNECT_DNS' });
    expect(seen.at(-1)).toEqual({ executed: ['write', 'reboot'] });
    expect(site.tink.isDone).toBe(true);
  } finally {
    dns.stop();
    await site.stop();
    rmSync(folder, { recursive: true });
  }
});
