import type { MachineFiles } from '../../system/machine-files.ts';
import { content, namesByBytes } from './files-in-order.ts';

const PERMANENT = '0'; // NET_ADDR_PERM

/**
 * Every interface but the loopback: bridges, bonds and VLANs, too. An address that software has set is no address. The speed is
 * the number in /sys, -1 without a link: the published image of tink-agent has no ethtool, which would write 1000Mb/s.
 */
export function readNetworkInterfaces(files: MachineFiles) {
  return namesByBytes(files, '/sys/class/net')
    .filter((name) => name !== 'lo' && name !== 'bonding_masters')
    .map((name) => {
      const fact = (field: string) => content(files, `/sys/class/net/${name}/${field}`);
      return {
        name,
        mac: fact('addr_assign_type') === PERMANENT ? (fact('address') ?? '') : '',
        speed: fact('speed') ?? '',
        enabledCapabilities: [],
      };
    });
}
