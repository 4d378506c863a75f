import type { Lease } from './lease.ts';

/** resolv.conf: what the kernel command line says, then the chosen interface, then the others. The resolver reads three. */
export function resolvConf(
  leases: readonly Lease[],
  extra: { nameservers: string[]; searchDomains: string[] },
): string {
  const servers = unique([...extra.nameservers, ...leases.flatMap(({ nameservers }) => nameservers)]).slice(
    0,
    3,
  );
  const domains = unique([
    ...extra.searchDomains,
    ...leases.flatMap(({ searchDomains }) => searchDomains),
  ]).slice(0, 6);
  return [
    ...(domains.length > 0 ? [`search ${domains.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    'options timeout:2 attempts:3',
    '',
  ].join('\n');
}

/** Adds the loopback names to what is there: the config archive may have brought its own lines. */
export function hostsFile(existing: string): string {
  if (/^127\.0\.0\.1\s.*\blocalhost\b/m.test(existing)) return existing;
  return `127.0.0.1 localhost\n::1 localhost\n${existing}`;
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}
