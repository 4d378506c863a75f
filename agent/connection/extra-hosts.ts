import { appendFileSync } from 'node:fs';
import { readIfThere } from '../../system/read-if-there.ts';

/** Adds names of EXTRA_HOSTS to /etc/hosts. The original replaces the file, localhost included; we only add what is missing. */
export function addExtraHosts(hosts: readonly { ip: string; name: string }[], file = '/etc/hosts'): void {
  const lines = (readIfThere(file) ?? '').split('\n');
  const missing = hosts.filter(
    ({ ip, name }) =>
      !lines.some((line) => {
        const [address, ...names] = line.trim().split(/\s+/);
        return address === ip && names.includes(name);
      }),
  );
  if (missing.length > 0) appendFileSync(file, missing.map(({ ip, name }) => `${ip} ${name}\n`).join(''));
}
