import { describe, expect, it } from 'vitest';
import { parseEnvConfig } from '../../../agent/config/env-config.ts';
import { parseFlags } from '../../../agent/config/load-config.ts';
import { resolveConfig } from '../../../agent/config/resolve-config.ts';
import { configAsTable } from '../../../agent/print-config.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

// EMF's real command line (boot.ipxe), with values filled in as iPXE does.
const EMF_COMMAND_LINE =
  'root=tmpfs rootflags=mode=0755 rd.skipfsck noresume quiet splash modules-load=nbd modprobe.blacklist=iwlwifi ' +
  'tink_worker_image=quay.io/tinkerbell/tink-worker:v0.10.0 grpc_authority=127.0.0.1:42113 tinkerbell_tls=false ' +
  'worker_id=52:54:00:12:34:56 IP=10.0.2.15 http_proxy= https_proxy= no_proxy= HTTP_PROXY= HTTPS_PROXY= NO_PROXY= ' +
  'DEBUG=false TIMEOUT=120s syslog_host=127.0.0.1 modules=loop,squashfs intel_iommu=on iommu=pt ' +
  'initrd=initramfs-x86_64 console=tty0 console=ttyS1,115200 loglevel=2 s_vmlinux_start=0x6553f100 s_initramfs_start=6553f10a';

const ENV_CONFIG = `
# written by the curation
KEYCLOAK_URL=keycloak.site.example:443
release_svc=files.site.example
onboarding_stream_svc = onboarding-stream.site.example
OBM_PORT=443
https_proxy=http://proxy.site.example:911
http_proxy="http://user:pass@proxy.site.example:911"
`;

function resolve(flags: string[] = [], commandLine = '', env = '') {
  return resolveConfig({
    flags: parseFlags(flags),
    kernel: parseKernelArguments(commandLine),
    env: env === '' ? [] : [{ file: '/etc/emf/env_config', values: parseEnvConfig(env) }],
  });
}

describe('the agent’s config', () => {
  it('reads EMF’s kernel command line and env_config', () => {
    const { config, warnings, stamps } = resolve([], EMF_COMMAND_LINE, ENV_CONFIG);
    expect(warnings).toEqual([]);
    expect(config).toMatchObject({
      grpcAuthority: '127.0.0.1:42113',
      tinkerbellTls: false,
      workerId: '52:54:00:12:34:56',
      bootIp: '10.0.2.15',
      debug: false,
      timeout: 120_000,
      syslogHost: '127.0.0.1',
      keycloak: 'keycloak.site.example:443',
      onboardingStream: 'onboarding-stream.site.example',
      onboardingPort: 443,
    });
    expect(stamps).toEqual({ s_vmlinux_start: 1_700_000_000_000, s_initramfs_start: 1_700_000_010_000 });
  });

  it('trap 12: takes an empty proxy on the command line as “no proxy”, over what env_config says', () => {
    expect(resolve([], EMF_COMMAND_LINE, ENV_CONFIG).config.httpsProxy).toBeUndefined();
    expect(resolve([], '', ENV_CONFIG).config.httpsProxy).toBe('http://proxy.site.example:911');
  });

  it('takes the one of http_proxy and HTTP_PROXY that is not empty', () => {
    expect(resolve([], 'http_proxy= HTTP_PROXY=http://p:1').config.httpProxy).toBe('http://p:1');
    expect(resolve([], 'http_proxy=http://p:2 HTTP_PROXY=').config.httpProxy).toBe('http://p:2');
  });

  it('lets flags win over the command line, and that over env_config, and says where a value came from', () => {
    const env = 'WORKER_ID=from-env\nDEBUG=true';
    const flagged = resolve(['--worker-id', 'from-flag'], 'worker_id=from-kernel', env);
    expect(flagged.config.workerId).toBe('from-flag');
    expect(flagged.origins.workerId).toBe('--worker-id');
    expect(resolve([], 'worker_id=from-kernel', env).origins.workerId).toBe('kernel command line worker_id');
    expect(resolve([], '', env).origins.workerId).toBe('/etc/emf/env_config WORKER_ID');
    expect(resolve().origins.onboardingPort).toBe('default');
  });

  it('keeps worker_id byte for byte', () => {
    expect(resolve([], 'worker_id=52-54-00-AB-cd-EF').config.workerId).toBe('52-54-00-AB-cd-EF');
  });

  it('refuses a misspelled kindling key and names the nearest', () => {
    expect(() => resolve([], 'kindling.sever=http://x')).toThrowError(
      expect.objectContaining({
        code: 'KND_CONFIG_UNKNOWN_KEY',
        message: expect.stringContaining('did you mean kindling.server?'),
      }),
    );
  });

  it('lets the keys of other parts pass', () => {
    expect(() =>
      resolve([], 'kindling.debug kindling.action=writefile kindling.set.CONTENTS=eA'),
    ).not.toThrow();
  });

  it('refuses an unknown option and names the nearest', () => {
    expect(() => resolve(['--sever=http://x'])).toThrow(/did you mean --server\?/);
  });

  it('refuses a bad value under a name of ours', () => {
    expect(() => resolve([], 'kindling.dialect=tink')).toThrowError(
      expect.objectContaining({ code: 'KND_CONFIG_INVALID' }),
    );
    expect(() => resolve(['--onboarding-port', '70000'])).toThrow(/a port from 1 to 65535/);
  });

  it('warns about a bad value under a foreign name and goes on without it', () => {
    const { config, warnings } = resolve([], 'DEBUG=maybe TIMEOUT=120 syslog_port=x');
    expect(config.debug).toBe(false);
    expect(config.timeout).toBe(120_000);
    expect(config.syslogPort).toBe(514);
    expect(warnings).toHaveLength(3);
  });

  it('reads Go’s booleans and durations', () => {
    expect(resolve([], 'DEBUG=T TIMEOUT=1m30.5s').config).toMatchObject({ debug: true, timeout: 90_500 });
  });

  it('turns DISABLE_INTERACTIVE round', () => {
    expect(resolve([], '', 'DISABLE_INTERACTIVE=true').config.isInteractive).toBe(false);
    expect(resolve(['--disable-interactive']).config.isInteractive).toBe(false);
    expect(resolve(['--interactive=false']).config.isInteractive).toBe(false);
  });

  it('splits EXTRA_HOSTS', () => {
    expect(resolve([], '', 'EXTRA_HOSTS=10.0.0.1 a.example,10.0.0.2 b.example').config.extraHosts).toEqual([
      { ip: '10.0.0.1', name: 'a.example' },
      { ip: '10.0.0.2', name: 'b.example' },
    ]);
  });

  it('shows neither passwords nor a proxy’s user', () => {
    const table = configAsTable(resolve(['--registry-password=hunter2'], '', ENV_CONFIG));
    expect(table).not.toContain('hunter2');
    expect(table).not.toContain('user:pass');
    expect(table).toContain('http://********@proxy.site.example:911');
    expect(table).toMatch(/registryPassword +\*{8} +--registry-password/);
    const bare = configAsTable(resolve(['--https-proxy=user:pass@proxy.example:3128'], '', ''));
    expect(bare).toMatch(/httpsProxy +\*{8}@proxy\.example:3128 /);
  });

  it('refuses an invalid proxy address, without repeating what may be a password', () => {
    const flagged = () => resolve(['--https-proxy=ftp://user:hunter2@proxy'], '', '');
    expect(flagged).toThrowError(expect.objectContaining({ code: 'KND_CONFIG_INVALID' }));
    expect(flagged).not.toThrowError(/hunter2/);
    const { config, warnings } = resolve([], 'https_proxy=http://user:hunter2@[proxy', '');
    expect(config.httpsProxy).toBeUndefined();
    expect(warnings.join()).toMatch(/^https_proxy must be a proxy/);
    expect(warnings.join()).not.toContain('hunter2');
  });
});
