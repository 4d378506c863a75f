import type { Disk, Inventory, Partition, Signature } from '../../protocol/inventory.ts';
import { formatBytes } from '../../system/format-bytes.ts';
import { driverless } from './pci.ts';

/** The inventory for people: a few aligned lines, the most asked-for facts first. */
export function describeInventory(inventory: Inventory): string {
  const { cpu, memory, firmware, tpm, disks, nics, pci } = inventory;
  const modules = memory.modules.map(({ sizeBytes, type }) =>
    `${formatBytes(sizeBytes)} ${type ?? ''}`.trim(),
  );
  const missing = driverless(pci);
  const rows: [string, string[]][] = [
    ['cpu', [`${cpu.model} · ${cpu.sockets} socket, ${cpu.cores} cores, ${cpu.threads} threads`]],
    ['memory', [`${formatBytes(memory.totalBytes)}${modules.length > 0 ? ` (${countEqual(modules)})` : ''}`]],
    [
      'firmware',
      [
        [firmware.kind.toUpperCase(), firmware.vendor, firmware.version, `Secure Boot ${firmware.secureBoot}`]
          .filter(Boolean)
          .join(' · '),
      ],
    ],
    ['tpm', [tpm ? `TPM ${tpm.version}` : 'none']],
    ['disks', disks.length > 0 ? disks.flatMap(describeDisk) : ['none']],
    ['nics', nics.length > 0 ? nics.map(describeNic) : ['none']],
    ...(missing.length > 0
      ? [
          [
            'no driver',
            missing.map(
              ({ device, what }) => `${what} ${device.vendorId}:${device.deviceId} at ${device.address}`,
            ),
          ] satisfies [string, string[]],
        ]
      : []),
  ];
  return rows
    .map(([name, lines]) =>
      lines.map((line, index) => `${(index === 0 ? name : '').padEnd(10)}${line}`).join('\n'),
    )
    .join('\n');
}

function describeDisk(disk: Disk): string[] {
  const marks = [
    disk.kind === 'disk' ? undefined : disk.kind,
    disk.isRotational && disk.kind === 'disk' ? 'rotational' : undefined,
    disk.isRemovable ? 'removable' : undefined,
    disk.isReadOnly ? 'read-only' : undefined,
    disk.isVirtualMedia ? 'virtual media' : undefined,
    disk.isBootMedium ? 'boot medium' : undefined,
    disk.network ? `network: ${disk.network}` : undefined,
  ].filter(Boolean);
  const name = [
    disk.name.padEnd(10),
    formatBytes(disk.sizeBytes).padStart(9),
    ` ${disk.bus.padEnd(7)}`,
    [disk.vendor, disk.model].filter(Boolean).join(' '),
    disk.serial ? `serial ${disk.serial}` : '',
    disk.wwn ?? '',
    marks.length > 0 ? `[${marks.join(', ')}]` : '',
  ];
  return [
    name.filter(Boolean).join(' '),
    ...(disk.signatures.length > 0
      ? [`  whole disk: ${disk.signatures.map(describeSignature).join(', ')}`]
      : []),
    ...disk.partitions.map((partition) => `  ${describePartition(disk, partition)}`),
  ];
}

function describePartition(disk: Disk, { number, sizeBytes, partLabel, signatures }: Partition): string {
  const what = signatures.map(describeSignature).join(', ') || 'nothing known';
  return `${disk.partitionTable} ${number}: ${formatBytes(sizeBytes)} ${partLabel ? `“${partLabel}” ` : ''}${what}`;
}

function describeSignature({ type, label }: Signature): string {
  return label ? `${type} “${label}”` : type;
}

function describeNic({
  name,
  permanentMac,
  mac,
  driver,
  hasLink,
  speedMbps,
  addresses,
  isBootNic,
}: Inventory['nics'][number]): string {
  const link = hasLink ? `link${speedMbps ? ` ${speedMbps} Mbit/s` : ''}` : 'no link';
  return [
    name.padEnd(10),
    permanentMac ?? mac,
    driver,
    link,
    ...addresses,
    isBootNic ? '[booted from]' : undefined,
  ]
    .filter(Boolean)
    .join(' ');
}

/** "2 × 16 GiB DDR5" rather than the same twice. */
function countEqual(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, count]) => (count > 1 ? `${count} × ${text}` : text)).join(', ');
}
