import { expect, test } from 'vitest';
import { DeviceCodes } from '../../../orchestrator-stub/people/device-codes.ts';

const GRANT = { token: 'knd_x', person: 'ann', expiresAt: 't' };
const refused = expect.objectContaining({ code: 'KND_DEVICE_CODE' });
let now = 0;
const fresh = () => {
  now = 0;
  return new DeviceCodes(() => new Date(now));
};

test('a program polls with its long code until somebody types the short one, and is given the token once', () => {
  const devices = fresh();
  const { deviceCode, userCode } = devices.start('10.0.0.5');
  const other = devices.start('10.0.0.5');
  expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/);
  expect(devices.poll(deviceCode)).toBeUndefined();
  const typed = `${userCode.slice(0, 4)}-${userCode.slice(4)} `.toLowerCase();
  const waiting = devices.find(typed);
  expect(waiting.address).toBe('10.0.0.5');
  devices.grant(waiting, GRANT);
  expect(() => devices.find(userCode), 'a code is typed once').toThrow(refused);
  expect(devices.poll(other.deviceCode)).toBeUndefined();
  expect(devices.poll(deviceCode)).toEqual(GRANT);
  expect(() => devices.poll(deviceCode)).toThrow(refused);
});

test('the short code opens nothing by itself', () => {
  const devices = fresh();
  const { userCode } = devices.start('10.0.0.5');
  devices.grant(devices.find(userCode), GRANT);
  expect(() => devices.poll(userCode)).toThrow(refused);
});

test('after ten minutes neither code is good', () => {
  const devices = fresh();
  const { deviceCode, userCode } = devices.start('10.0.0.5');
  now = 600_000;
  expect(() => devices.find(userCode)).toThrow(refused);
  expect(() => devices.poll(deviceCode)).toThrow(refused);
});

test('who asks for many codes pushes out their own', () => {
  const devices = fresh();
  const { deviceCode } = devices.start('10.0.0.5');
  const first = devices.start('203.0.113.9');
  for (let count = 0; count < 20; count += 1) devices.start('203.0.113.9');
  expect(devices.poll(deviceCode)).toBeUndefined();
  expect(() => devices.poll(first.deviceCode)).toThrow(refused);
});
