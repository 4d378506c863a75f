import { createHash } from 'node:crypto';
import { ALGORITHM } from '../../../formats/tpm/numbers.ts';

export interface Logged {
  pcr: number;
  type: number;
  data: Buffer;
  /** What was measured; the data, if absent. */
  measured?: Buffer;
}

const le = (value: number, size: 2 | 4) => {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntLE(value, 0, size);
  return bytes;
};

/** A firmware's event log with the SHA-256 bank ("PC Client Platform Firmware Profile" 1.06, 10.2). */
export function eventLog(events: readonly Logged[]): Buffer {
  const header = Buffer.concat([
    ...[Buffer.from('Spec ID Event03\0'), le(0, 4), Buffer.from([0, 2, 0, 2])],
    ...[le(1, 4), le(ALGORITHM.sha256, 2), le(32, 2), Buffer.from([0])],
  ]);
  const rest = events.map(({ pcr, type, data, measured }) =>
    Buffer.concat([
      ...[le(pcr, 4), le(type, 4), le(1, 4), le(ALGORITHM.sha256, 2)],
      ...[
        createHash('sha256')
          .update(measured ?? data)
          .digest(),
        le(data.length, 4),
        data,
      ],
    ]),
  );
  return Buffer.concat([le(0, 4), le(3, 4), Buffer.alloc(20), le(header.length, 4), header, ...rest]);
}
