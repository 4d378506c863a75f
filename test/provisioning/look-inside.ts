import type { Machine } from '../../lab/qemu/machine.ts';

/** What an installed system finds when it looks at itself, after cloud-init has done the rest. */
export interface Inside {
  hostname: string;
  /** What / is mounted from, and whether it can be written. */
  root: string;
  /** `0 1048576 verity V` where dm-verity vouches for every block, empty without it. */
  verity: string;
  /** Of the firmware, 1 is on. */
  secureBoot: string;
  tenant: string;
  /** Status of a file that was fetched over TLS with nothing but the system's own CAs. */
  fetchedByTls: string;
  /** How many parts of cloud-init broke. */
  tracebacks: string;
}

const SECURE_BOOT = '/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c';

/** A custom config of a profile: the installed system looks at itself and says on its console what it saw. */
export function lookInside(tlsFile = '') {
  const commands: Record<keyof Inside, string> = {
    hostname: 'hostname',
    root: 'findmnt -n -o SOURCE,VFS-OPTIONS / | cut -d, -f1',
    verity: 'dmsetup status rootfs 2>/dev/null',
    secureBoot: `od -An -tu1 -j4 ${SECURE_BOOT} 2>/dev/null`,
    tenant: 'cat /etc/intel_edge_node/tenantId',
    fetchedByTls: tlsFile && `curl -s -o /dev/null -w "%{http_code}" ${tlsFile}`,
    tracebacks: 'grep -c Traceback /var/log/cloud-init.log',
  };
  const facts = Object.entries(commands).map(([name, command]) => `"${name}":"'"$(echo $(${command}))"'"`);
  const script = `printf '\\n%s\\n' 'INSIDE {${facts.join(',')}}' > /dev/ttyS0`;
  const content = [
    '#cloud-config',
    'merge_how: dict(recurse_array,no_replace)+list(append)',
    'runcmd:',
    `  - [sh, -c, ${JSON.stringify(script)}]`,
  ];
  return { name: 'look-inside', content: `${content.join('\n')}\n` };
}

export async function whatItSaw({ console }: Machine): Promise<Inside> {
  const { groups } = await console.waitFor(/INSIDE (\{.*\})/, { timeoutMs: 180_000 });
  return JSON.parse(groups[1] ?? '{}') as Inside;
}
