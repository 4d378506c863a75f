import type { ShippingRecord } from '../../../protocol/shipping-record.ts';

/** A machine that is done, with one disk. */
export const EXAMPLE: ShippingRecord = {
  version: 1,
  madeAt: '2026-11-18T10:00:00.000Z',
  site: 'project-1',
  node: {
    id: 'host-0123abcd',
    name: 'till-1',
    uuid: null,
    serial: 'SN-4F7K2Q',
    macs: ['52:54:00:12:34:56'],
    place: 'sw2/14',
    site: 'berlin',
    metadata: { order: '4711' },
  },
  hardware: {
    manufacturer: 'Acme',
    product: 'Box 3',
    cpu: { model: 'N100', sockets: 1, cores: 4 },
    memoryBytes: 8_589_934_592,
    disks: [
      {
        path: '/dev/sda',
        bus: 'sata',
        model: 'Disk',
        serial: 'D1',
        wwn: null,
        sizeBytes: 1000,
        erasure: null,
      },
    ],
    nics: [{ name: 'eno1', mac: '52:54:00:12:34:56', driver: 'igc', speedMbps: 1000 }],
    firmware: { kind: 'uefi', vendor: 'AMI', version: '1.2', date: null, secureBoot: 'on' },
    tpm: { version: '2.0', manufacturer: 'IFX' },
  },
  otherErasures: [],
  proof: { ekHash: 'e'.repeat(64), provenAt: '2026-11-18T09:00:00.000Z', certifiedBy: null },
  system: {
    profile: 'edge',
    generation: 1,
    imageUrl: 'http://images.test/x.raw',
    imageSha256: null,
    written: { at: '2026-11-18T09:10:00.000Z', sha256: 'a'.repeat(64), manifestRoot: null, bytes: 5 },
    firstBootAt: '2026-11-18T09:20:00.000Z',
  },
  outcome: { verdict: 'done', status: 'Running', reason: null },
  stages: [
    { name: 'stream-os-image', state: 'SUCCESS', attempt: 2, startedAt: null, stoppedAt: null, seconds: 61 },
  ],
  people: [
    {
      at: '2026-11-18T08:00:00.000Z',
      who: 'anna',
      role: 'operator',
      station: '10.0.0.7',
      action: 'registerNode',
    },
  ],
  log: { lines: 0, sha256: 'b'.repeat(64) },
};
