import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHECKS, CLUSTER, type DebianStick, installAndStart, makeDebianStick } from './debian-stick.ts';
import { stickFile } from './test-stick.ts';

const UUID = 'aaaaaaaa-2222-3333-4444-555555555555';

let stick: DebianStick;
beforeAll(async () => {
  stick = await makeDebianStick();
});
afterAll(() => stick?.[Symbol.dispose]());

// Under BIOS: debian-stick-bios.long.test.ts. A UEFI that forgets its boot order: forgetful-uefi.long.test.ts
test('a stick waits for a key, erases the other disks as asked, and makes a running node of a real Debian, without a network: on NVMe under UEFI with Secure Boot', async () => {
  const { checks, cluster, report, medium } = await installAndStart(stick, 'node-a', 'nvme', 'erased', {
    firmware: 'ovmf-secure-boot',
    efiVariables: 'snakeoil',
    smbios: { serial: 'NODE-A', uuid: UUID },
  });
  expect(checks).toBe(CHECKS);
  expect(cluster).toBe(CLUSTER);
  expect(report).toMatchObject({ hostname: 'node-a', k3s: 'success', address: '192.0.2.10/24' });
  expect(JSON.parse(await stickFile(medium, `status/${UUID}-first-boot.json`))).toEqual(report);
  expect(await stickFile(medium, `logs/${UUID}-first-boot.log`)).toContain('Cloud-init v.');
  const status = JSON.parse(await stickFile(medium, `status/${UUID}.json`));
  expect(status).toMatchObject({ state: 'installed', serial: 'NODE-A', disk: 'TARGET' });
}, 900_000);
