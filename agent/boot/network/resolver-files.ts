import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { MachineFiles } from '../../../system/machine-files.ts';
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
  return `127.0.0.1 localhost\n::1 localhost\n${existing}${existing === '' || existing.endsWith('\n') ? '' : '\n'}`;
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}

export function writeResolverFiles(
  files: MachineFiles,
  leases: readonly Lease[],
  extra: { nameservers: string[]; searchDomains: string[] },
): void {
  writeChanged(files.path('/etc/resolv.conf'), resolvConf(leases, extra));
  writeChanged(files.path('/etc/hosts'), hostsFile(files.text('/etc/hosts') ?? ''));
}

function writeChanged(file: string, text: string): void {
  try {
    if (readFileSync(file, 'utf8') === text) return;
  } catch {
    // not there yet
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
