import type { Disk, Inventory, Nic } from '../../../protocol/inventory.ts';

/** What the orchestrator's API tells about a node, as far as the demo shows it. */
export interface KnownNode {
  id: string;
  status: string;
  uuid: string | null;
  serial: string | null;
  mac: string | null;
  inventory: Inventory;
}

/** The node as the orchestrator knows it, for people. Pure. */
export function describeNode({ id, status, inventory }: KnownNode): string[] {
  const { identity, cpu, memory, firmware, disks, nics, tpm } = inventory;
  const rows: [string, string][] = [
    ['node', `${id} · ${status}`],
    [
      'identity',
      [...new Set([identity.nodeId, identity.uuid, identity.serial])]
        .filter((part) => part !== undefined)
        .join(' · '),
    ],
    [
      'machine',
      [identity.manufacturer, identity.product].filter((part) => part !== undefined).join(' ') || 'unknown',
    ],
    ['processor', `${cpu.model}, ${cpu.threads} thread${cpu.threads === 1 ? '' : 's'}`],
    ['memory', size(memory.totalBytes)],
    [
      'firmware',
      `${firmware.kind} ${firmware.vendor ?? ''} · Secure Boot ${firmware.secureBoot}`.replace('  ', ' '),
    ],
    ...disks
      .filter(({ kind }) => kind === 'disk')
      .map((disk): [string, string] => ['disk', describeDisk(disk)]),
    ...nics.map((nic): [string, string] => ['NIC', describeNic(nic)]),
    ['TPM', tpm ? tpm.version : 'none'],
  ];
  return rows.map(([name, value]) => `  ${name.padEnd(10)} ${value}`);
}

function describeDisk({ path, bus, sizeBytes, serial, partitionTable }: Disk): string {
  const content = partitionTable ? `${partitionTable} partition table` : 'empty';
  return [path, bus, size(sizeBytes), serial ? `serial ${serial}` : 'no serial', content].join(' · ');
}

function describeNic({ name, mac, driver, hasLink, addresses }: Nic): string {
  return [name, mac, driver ?? 'no driver', hasLink ? addresses.join(' ') || 'link' : 'no link'].join(' · ');
}

function size(bytes: number): string {
  const gibibytes = bytes / 2 ** 30;
  return gibibytes >= 1 ? `${Number(gibibytes.toFixed(1))} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}
