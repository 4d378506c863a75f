import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import type { MachineSpec } from '../../../lab/qemu/machine-spec.ts';
import { GAVE_UP } from '../../../lab/qemu/micro-os.ts';
import { snakeoilKeys } from './snakeoil.ts';
import { makeTargetImage } from './target-image.ts';
import { buildTestStick } from './test-stick.ts';

const CONFIG = `version: 1.0
operatingSystem:
  hostname: node-c
  users: [{username: edge, password: c2VjcmV0LW9mLXRoZS1ub2Rl}]
image: {file: target.raw.zst}
install: {confirm: none, after: reboot}
`;
const WAIT = { timeoutMs: 480_000, failOn: GAVE_UP };
const folder = mkdtempSync(join(tmpdir(), 'kindling-forgetful-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let stick = '';
beforeAll(async () => {
  const secureBoot = await snakeoilKeys(folder);
  await makeTargetImage(folder, secureBoot);
  stick = await buildTestStick(folder, CONFIG, secureBoot);
});

// Under BIOS, which starts the stick every time: stick.qemu.test.ts
test('a UEFI that has lost its list starts the stick again, which sends it on to the disk', async () => {
  const target = join(folder, 'node-c.img');
  writeFileSync(target, '');
  truncateSync(target, 256 * 1024 * 1024);
  const spec: MachineSpec = {
    firmware: 'ovmf',
    memoryMb: 768,
    smbios: { serial: 'NODE-C', uuid: 'cccccccc-2222-3333-4444-555555555555' },
    disks: [
      { bus: 'usb', removable: true, bootIndex: 1, file: stick },
      { bus: 'nvme', file: target, serial: 'C1', bootIndex: 2 },
    ],
  };
  {
    await using machine = await bootMachine(spec);
    await machine.console.waitFor(/KINDLING-INSTALLED .*"disk":"C1"/, WAIT);
    await machine.console.waitFor(/^TARGET-UP$/, WAIT);
    await machine.waitForPowerOff();
  }
  // Another machine to QEMU: its variables are new, and so its boot index puts the stick first.
  await using forgetful = await bootMachine(spec);
  await forgetful.console.waitFor(/KINDLING-ALREADY-INSTALLED/, WAIT);
  await forgetful.console.waitFor(/^TARGET-UP$/, WAIT);
  await forgetful.waitForPowerOff();
}, 900_000);
