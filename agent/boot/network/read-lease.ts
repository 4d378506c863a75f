import type { MachineFiles } from '../../../system/machine-files.ts';
import type { DhcpClients } from './dhcp-client.ts';
import type { Lease } from './lease.ts';
import type { InterfacePlan } from './network-plan.ts';

/** What an interface has been given by now, whatever the method; the fingerprint changes when the lease does. */
export function readLease(
  device: string,
  method: InterfacePlan['method'],
  { files, dhcp }: { files: MachineFiles; dhcp: DhcpClients },
): { lease: Lease; fingerprint: string } | undefined {
  if (method.kind === 'dhcp') return dhcp.lease(device);
  const address = method.kind === 'static' ? method.address : globalIpv6Address(files, device);
  if (!address) return undefined;
  const { prefix, gateway } = method.kind === 'static' ? method : { prefix: 64, gateway: undefined };
  const lease: Lease = {
    interface: device,
    address,
    prefix,
    gateways: gateway ? [gateway] : [],
    routes: [],
    nameservers: [],
    searchDomains: [],
    ntpServers: [],
    source: 'fixed',
  };
  return { lease, fingerprint: address };
}

/**
 * With auto6 the kernel does it alone, from router advertisements. /proc/net/if_inet6 has address, index, prefix, scope (00 is
 * global), flags, name.
 */
function globalIpv6Address(files: MachineFiles, device: string): string | undefined {
  for (const line of (files.text('/proc/net/if_inet6') ?? '').split('\n')) {
    const [hex = '', , , scope, , name] = line.trim().split(/\s+/);
    if (name === device && scope === '00') return (hex.match(/..../g) ?? []).join(':');
  }
  return undefined;
}
