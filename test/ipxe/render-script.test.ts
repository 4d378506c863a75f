import { describe, expect, it } from 'vitest';
import { fixedKernelArguments, renderBootScript, renderChainScript } from '../../ipxe/render-script.ts';

const settings = {
  kernelUrl: 'https://cdn.example/vmlinuz-x86_64',
  initramfsUrl: 'https://cdn.example/initramfs-x86_64',
  grpcAuthority: '127.0.0.1:42113',
};

/** docs/background/emf.md#kernel-command-line: the order real Micro-OS scripts and people rely on. */
const EMF_ORDER = [
  'root=tmpfs rootflags=mode=0755 rd.skipfsck noresume quiet splash modules-load=nbd modprobe.blacklist=iwlwifi',
  'tink_worker_image= grpc_authority= tinkerbell_tls= worker_id= IP= http_proxy= https_proxy= no_proxy=',
  'HTTP_PROXY= HTTPS_PROXY= NO_PROXY= DEBUG= TIMEOUT= syslog_host= modules= intel_iommu= iommu= initrd= console= loglevel=',
  's_vmlinux_start= s_initramfs_start= s_initramfs_end= s_netconf_start= s_netconf_end=',
]
  .join(' ')
  .split(' ');

describe('boot.ipxe', () => {
  it('trap 6: gives the kernel EMF’s arguments in EMF’s order, DEBUG and TIMEOUT among them', () => {
    const args = /^imgargs vmlinuz (.*)$/m.exec(renderBootScript(settings))?.[1]?.split(' ') ?? [];
    let at = -1;
    for (const expected of EMF_ORDER) {
      const found = args.findIndex((argument, index) => index > at && argument.startsWith(expected));
      expect(found, `${expected} after position ${at}`).toBeGreaterThan(at);
      at = found;
    }
    expect(args).toEqual(expect.arrayContaining(['DEBUG=false', 'TIMEOUT=120s']));
    expect(args).toContain('console=tty0');
    expect(args).toContain('console=ttyS1,115200');
  });

  it('loads the config archive only when there is one', () => {
    expect(renderBootScript(settings)).toContain('set config_archive_url \n');
    expect(renderBootScript({ ...settings, configArchiveUrl: 'https://site.example/config.cpio' })).toContain(
      'set config_archive_url https://site.example/config.cpio',
    );
  });

  it('has fixed arguments that can be signed: all but those which only the machine knows', () => {
    const script = renderBootScript({ ...settings, additionalKernelArgs: ['kindling.server=https://x'] });
    const fixed = fixedKernelArguments(script).split(' ');
    expect(fixed[0]).toBe('root=tmpfs');
    expect(fixed).toContain('kindling.server=https://x');
    for (const unfixed of ['worker_id=', 'IP=', 's_vmlinux_start=', 'hw_addr=', 'initrd='])
      expect(fixed.filter((argument) => argument.startsWith(unfixed))).toEqual([]);
  });

  it('never drops to a shell and leaves no placeholder', () => {
    for (const script of [renderBootScript(settings), renderChainScript('http://site.example/boot.ipxe')]) {
      expect(script).toMatch(/^#!ipxe\n/);
      expect(script).not.toMatch(/^\s*shell/m);
      expect(script).not.toMatch(/@[A-Z_]+@/);
      expect(script).toMatch(/goto (scan|load)\n$/);
    }
  });

  it('has a target for every goto', () => {
    for (const script of [renderBootScript(settings), renderChainScript('http://site.example/boot.ipxe')]) {
      const labels = new Set([...script.matchAll(/^:(\w+)$/gm)].map(([, label]) => label));
      for (const [, target] of script.matchAll(/goto (\w+)/g)) expect(labels).toContain(target);
    }
  });

  it.each(['http://x/\nshell', 'http://x/ && shell', 'http://x || shell'])(
    'refuses a value that would add a command: %j',
    (value) => {
      expect(() => renderChainScript(value)).toThrow('would change the iPXE script');
    },
  );

  it('refuses a command line the kernel would cut off', () => {
    expect(() => renderBootScript({ ...settings, additionalKernelArgs: ['x'.repeat(2000)] })).toThrow('2048');
  });
});
