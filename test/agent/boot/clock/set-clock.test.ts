import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setClockFromMachine, setClockFromNetwork } from '../../../../agent/boot/clock/set-clock.ts';
import { machineFiles } from '../../../../system/machine-files.ts';
import { recordingView } from '../recording-view.ts';

const BUILT = Date.parse('2026-11-01T00:00:00Z');
const NOW = Date.parse('2026-11-16T12:00:00Z');
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kindling-clock-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function machine(startsAt: number, rtc?: number) {
  if (rtc !== undefined) {
    mkdirSync(join(root, 'sys/class/rtc/rtc0'), { recursive: true });
    writeFileSync(join(root, 'sys/class/rtc/rtc0/since_epoch'), `${rtc / 1000}\n`);
  }
  let time = startsAt;
  const { view, notices, lines } = recordingView();
  const set = async (milliseconds: number) => {
    time = milliseconds;
  };
  const context = { files: machineFiles(root), view, now: () => time, set, floor: BUILT };
  return { context, notices, lines, time: () => time };
}

const ask = (answers: Record<string, number>, date?: number) => ({
  ntp: async (server: string) => answers[server] ?? Promise.reject(new Error('silent')),
  http: async () => date ?? Promise.reject(new Error('silent')),
});

test('a clock that makes sense is left alone', async () => {
  const { context, notices, time } = machine(NOW);
  await setClockFromMachine(context);
  expect(time()).toBe(NOW);
  expect(notices).toEqual([]);
});

test('a dead battery (1970) starts from the build time and is told with its code', async () => {
  const { context, notices, time } = machine(0, 0);
  await setClockFromMachine(context);
  expect(time()).toBe(BUILT);
  expect(notices).toEqual(['KND_CLOCK_WRONG']);
});

test('a real-time clock the kernel did not read is better than the build time', async () => {
  const { context, time } = machine(0, NOW);
  await setClockFromMachine(context);
  expect(time()).toBe(NOW);
});

test('a time server that answers wins over the orchestrator’s date', async () => {
  const { context, notices, time } = machine(BUILT);
  const source = await setClockFromNetwork(context, {
    ntpServers: ['silent', '10.0.0.5'],
    url: 'http://server',
    ask: ask({ '10.0.0.5': NOW }, NOW + 5000),
  });
  expect(source).toBe('NTP server 10.0.0.5');
  expect(time()).toBe(NOW);
  expect(notices).toEqual(['KND_CLOCK_WRONG']);
});

test('without a time server the orchestrator’s date is used', async () => {
  const { context, time } = machine(BUILT);
  expect(
    await setClockFromNetwork(context, { ntpServers: [], url: 'http://server/x', ask: ask({}, NOW) }),
  ).toBe('HTTP date of server');
  expect(time()).toBe(NOW);
});

test('a source before the build time is not believed', async () => {
  const { context, time } = machine(BUILT);
  const source = await setClockFromNetwork(context, {
    ntpServers: ['a'],
    url: 'http://b',
    ask: ask({ a: 1000 }, BUILT - 1),
  });
  expect(source).toBeUndefined();
  expect(time()).toBe(BUILT);
});

test('small differences are not corrected, and nobody is bothered', async () => {
  const { context, notices, time } = machine(NOW);
  await setClockFromNetwork(context, { ntpServers: ['a'], url: undefined, ask: ask({ a: NOW + 900 }) });
  expect(time()).toBe(NOW);
  expect(notices).toEqual([]);
});

test('a clock that is ahead is set back', async () => {
  const { context, lines, time } = machine(NOW + 3_600_000 * 50);
  await setClockFromNetwork(context, { ntpServers: ['a'], url: undefined, ask: ask({ a: NOW }) });
  expect(time()).toBe(NOW);
  expect(lines.join('\n')).toContain('2 days ahead');
});
