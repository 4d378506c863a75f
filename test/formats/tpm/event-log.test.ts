import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { decodeEventLog, EVENT, findForgedEvent, replay } from '../../../formats/tpm/event-log.ts';
import { ALGORITHM } from '../../../formats/tpm/numbers.ts';
import { eventLog } from './logged.ts';

const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const SEPARATOR = { pcr: 4, type: EVENT.separator, data: Buffer.alloc(4) };
const PROGRAM = {
  pcr: 4,
  type: EVENT.efiBootServicesApplication,
  data: Buffer.from('where it was'),
  measured: Buffer.from('the program'),
};

test('the registers follow from the log, event by event', () => {
  const events = decodeEventLog(eventLog([SEPARATOR, PROGRAM]));
  expect(events.map(({ pcr, type }) => [pcr, type])).toEqual([
    [4, EVENT.separator],
    [4, EVENT.efiBootServicesApplication],
  ]);
  const first = sha256(Buffer.alloc(32), sha256(SEPARATOR.data));
  expect(replay(events, ALGORITHM.sha256)).toEqual(new Map([[4, sha256(first, sha256(PROGRAM.measured))]]));
});

test('a TPM that was started from locality 3 begins register 0 with 3; such an event is not measured', () => {
  const started = { pcr: 0, type: EVENT.noAction, data: Buffer.from('StartupLocality\0\u0003') };
  const events = decodeEventLog(eventLog([started]));
  expect(replay(events, ALGORITHM.sha256).get(0)).toEqual(Buffer.concat([Buffer.alloc(31), Buffer.of(3)]));
});

test('an event whose data was changed is named', () => {
  const changed = { ...SEPARATOR, data: Buffer.from('off!'), measured: SEPARATOR.data };
  expect(findForgedEvent(decodeEventLog(eventLog([PROGRAM, SEPARATOR])))).toBeUndefined();
  expect(findForgedEvent(decodeEventLog(eventLog([PROGRAM, changed])))).toBe(1);
});

test('a log that ends early, and the old form without SHA-256, are refused', () => {
  const log = eventLog([SEPARATOR]);
  expect(() => decodeEventLog(log.subarray(0, -1))).toThrow('the event log ends too early');
  expect(() =>
    decodeEventLog(Buffer.concat([Buffer.alloc(28), Buffer.from([16, 0, 0, 0]), Buffer.alloc(16)])),
  ).toThrow('is not of a TPM 2.0');
});
