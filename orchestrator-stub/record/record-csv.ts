import type { ShippingRecord } from '../../protocol/shipping-record.ts';

type Cell = string | number | null | undefined;

const COLUMNS: [heading: string, cell: (record: ShippingRecord) => Cell][] = [
  ['Serial', ({ node }) => node.serial],
  ['UUID', ({ node }) => node.uuid],
  ['MAC', ({ node }) => node.macs.join(' ')],
  ['Name', ({ node }) => node.name],
  ['Place', ({ node }) => node.place],
  ['Site', ({ node }) => node.site],
  ['Verdict', ({ outcome }) => outcome.verdict],
  ['Status', ({ outcome }) => outcome.status],
  ['Reason', ({ outcome }) => outcome.reason?.code ?? outcome.reason?.message],
  ['Manufacturer', ({ hardware }) => hardware.manufacturer],
  ['Product', ({ hardware }) => hardware.product],
  ['CPU', ({ hardware }) => hardware.cpu?.model],
  ['MemoryBytes', ({ hardware }) => hardware.memoryBytes],
  ['Disks', ({ hardware }) => hardware.disks.map(({ serial, path }) => serial ?? path).join(' ')],
  ['DiskBytes', ({ hardware }) => hardware.disks.map(({ sizeBytes }) => sizeBytes ?? '?').join(' ')],
  [
    'Erasure',
    ({ hardware }) =>
      hardware.disks.map(({ erasure }) => erasure?.certificate.nistClass ?? 'no certificate').join(' '),
  ],
  ['Firmware', ({ hardware }) => hardware.firmware.version],
  ['SecureBoot', ({ hardware }) => hardware.firmware.secureBoot],
  ['EKHash', ({ proof }) => proof?.ekHash],
  ['Profile', ({ system }) => system.profile],
  ['Generation', ({ system }) => system.generation],
  ['Image', ({ system }) => system.imageUrl],
  ['ImageSHA256', ({ system }) => system.written?.sha256 ?? system.imageSha256],
  ['ManifestRoot', ({ system }) => system.written?.manifestRoot],
  ['FirstBootAt', ({ system }) => system.firstBootAt],
  ['Seconds', ({ stages }) => stages.reduce((sum, { seconds }) => sum + seconds, 0)],
  ['Retries', ({ stages }) => stages.reduce((sum, { attempt }) => sum + attempt - 1, 0)],
  ['People', ({ people }) => [...new Set(people.map(({ who }) => who))].join(' ')],
  ['LogSHA256', ({ log }) => log.sha256],
  ['NodeID', ({ node }) => node.id],
];

/** One row per node (RFC 4180). Our import takes the first columns back. */
export function recordsCsv(records: readonly ShippingRecord[]): string {
  const rows = [
    COLUMNS.map(([heading]) => heading),
    ...records.map((record) => COLUMNS.map(([, cell]) => cell(record))),
  ];
  return rows.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/**
 * Quoted where commas, quotes or breaks are in it. A text that a spreadsheet would take for a formula gets an apostrophe: what a
 * machine says of itself must not run on the desk of the person who opens the file.
 */
function csvCell(value: Cell): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
