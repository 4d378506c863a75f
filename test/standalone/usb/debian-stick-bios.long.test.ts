import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHECKS, CLUSTER, type DebianStick, installAndStart, makeDebianStick } from './debian-stick.ts';
import { stickFile } from './test-stick.ts';

const UUID = 'aaaaaaaa-2222-3333-4444-555555555555';

let stick: DebianStick;
beforeAll(async () => {
  stick = await makeDebianStick();
});
afterAll(() => stick?.[Symbol.dispose]());

test('a stick makes a running node of a real Debian on virtio under BIOS, which starts the stick first', async () => {
  const { checks, cluster, report, medium } = await installAndStart(stick, 'node-b', 'virtio', 'left alone', {
    smbios: { serial: 'NODE-B', uuid: UUID },
  });
  expect(checks).toBe(CHECKS);
  expect(cluster).toBe(CLUSTER);
  expect(report).toMatchObject({ hostname: 'node-b', k3s: 'success', address: '192.0.2.20/24' });
  expect(await stickFile(medium, `logs/${UUID}.log`)).toContain('installed on TARGET; next: reboot');
}, 900_000);
