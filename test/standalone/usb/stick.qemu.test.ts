import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DiskFile } from '../../../lab/qemu/disk-file.ts';
import { bootMachine } from '../../../lab/qemu/machine.ts';
import type { MachineSpec } from '../../../lab/qemu/machine-spec.ts';
import { readPartitionTable } from '../../../protocol/partition-table/read.ts';
import { STICK_LABELS } from '../../../protocol/stick.ts';
import { validateConfig } from '../../../standalone/config/validate.ts';
import { collectBootFiles } from '../../../standalone/usb/boot-files.ts';
import { buildStick } from '../../../standalone/usb/build-stick.ts';
import { makeTargetImage } from './target-image.ts';

const MIB = 1024 * 1024;
/** Where the root of the target image starts, and how large it is. */
const ROOT = { offset: 49 * MIB, size: 32 * MIB };
const folder = mkdtempSync(join(tmpdir(), 'kindling-stick-test-'));
const stick = join(folder, 'stick.img');
const secureBoot = { key: join(folder, 'db.key'), certificate: join(folder, 'db.pem') };

const CONFIG = `version: 1.0
operatingSystem:
  hostname: edge-default
  users: [{username: edge, password: c2VjcmV0}]
install: {countdownSeconds: 1}
image: {file: target.raw.zst, artifacts: artifacts}
disk: {serial: TARGET}
nodes:
  - match: {serial: NODE-A}
    operatingSystem:
      hostname: node-a
      network: [{address: 192.0.2.10/24, gateway: 192.0.2.1}]
`;

beforeAll(async () => {
  // OVMF's own test key is in the variable store «snakeoil».
  const ovmf = '/usr/share/ovmf/PkKek-1-snakeoil';
  await execa('openssl', ['rsa', '-in', `${ovmf}.key`, '-passin', 'pass:snakeoil', '-out', secureBoot.key]);
  cpSync(`${ovmf}.pem`, secureBoot.certificate);
  await makeTargetImage(folder, secureBoot);
  mkdirSync(join(folder, 'artifacts'));
  writeFileSync(join(folder, 'artifacts/install.sh'), 'echo called\n');
  cpSync(await buildTestStick(folder, CONFIG), stick);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function buildTestStick(work: string, config: string): Promise<string> {
  const target = join(work, 'new-stick.img');
  const configFile = join(work, 'config.yaml');
  writeFileSync(configFile, config);
  const validation = validateConfig(config);
  expect(validation.issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  const bootFiles = (kernelArguments: string) => collectBootFiles(kernelArguments, { secureBoot });
  await buildStick({ validation, configFile, target, createdBy: 'test', bootFiles, say: () => {} });
  return target;
}

/** A file inside the root file system of an installed disk. */
async function installedFile(disk: DiskFile, path: string): Promise<string> {
  const root = join(folder, 'root.img');
  writeFileSync(root, await disk.read(ROOT.offset, ROOT.size));
  return (await execa('debugfs', ['-R', `cat ${path}`, root])).stdout;
}

async function stickFile(disk: DiskFile, path: string): Promise<string> {
  const table = await readPartitionTable((offset, length) => disk.read(offset, length), await disk.size());
  const people = table?.partitions.find(({ partLabel }) => partLabel === STICK_LABELS.people);
  return (await execa('mtype', ['-i', `${disk.path}@@${people?.startBytes}`, `::${path}`])).stdout;
}

function machineWith(target: 'nvme' | 'sata' | 'virtio', changes: Partial<MachineSpec>): MachineSpec {
  return {
    memoryMb: 768,
    disks: [
      { bus: 'usb', file: stick, copy: true, removable: true, bootIndex: 1 },
      { bus: target, size: '256M', serial: 'TARGET', bootIndex: 2 },
      { bus: 'sata', size: '256M', serial: 'OTHER' },
    ],
    ...changes,
  };
}

const WAIT = { timeoutMs: 200_000, failOn: /KINDLING-FATAL/ };

describe('a stick', () => {
  test('installs a machine with Secure Boot and no network, and the installed system starts with the stick still in', async () => {
    await using machine = await bootMachine(
      machineWith('nvme', {
        firmware: 'ovmf-secure-boot',
        efiVariables: 'snakeoil',
        smbios: { serial: 'NODE-A', uuid: '11111111-2222-3333-4444-555555555555' },
      }),
    );
    await machine.console.waitFor(/KINDLING-INSTALLED .*"disk":"TARGET"/, WAIT);
    await machine.console.waitFor('TARGET-UP', WAIT);
    await machine.waitForPowerOff();
    const [medium, target, other] = machine.disks as [DiskFile, DiskFile, DiskFile];
    const userData = await installedFile(target, '/var/lib/cloud/seed/nocloud/user-data');
    expect(userData).toContain('hostname: node-a');
    expect(userData).toContain('hashed_passwd: $6$');
    expect(await installedFile(target, '/var/lib/cloud/seed/nocloud/network-config')).toContain(
      '192.0.2.10/24',
    );
    expect(await installedFile(target, '/opt/install.sh')).toBe('echo called');
    expect((await other.read(0, MIB)).every((byte) => byte === 0)).toBe(true);
    const status = JSON.parse(await stickFile(medium, 'status/11111111-2222-3333-4444-555555555555.json'));
    expect(status).toMatchObject({ state: 'installed', serial: 'NODE-A', disk: 'TARGET' });
  });

  test('installs an unknown machine with the default under BIOS; started again, it does not install again', async () => {
    await using machine = await bootMachine(
      machineWith('virtio', { smbios: { serial: 'UNKNOWN', uuid: '22222222-2222-3333-4444-555555555555' } }),
    );
    await machine.console.waitFor(/KINDLING-INSTALLED .*"disk":"TARGET"/, WAIT);
    await machine.console.waitFor(/KINDLING-ALREADY-INSTALLED/, WAIT);
    await machine.waitForPowerOff();
    const target = machine.disks[1] as DiskFile;
    expect(await installedFile(target, '/var/lib/cloud/seed/nocloud/user-data')).toContain(
      'hostname: edge-default',
    );
  });

  test('with a flipped byte in the image ends with a code, and leaves nothing that boots', async () => {
    const damaged = join(folder, 'damaged.img');
    cpSync(stick, damaged);
    const bytes = readFileSync(damaged);
    const at = bytes.indexOf(readFileSync(join(folder, 'target.raw.zst')).subarray(0, 4096)) + 3_000_000;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(damaged, bytes);
    const spec = machineWith('sata', {
      smbios: { serial: 'NODE-A', uuid: '33333333-2222-3333-4444-555555555555' },
    });
    const disks = [
      { ...spec.disks?.[0], bus: 'usb' as const, file: damaged },
      ...(spec.disks?.slice(1) ?? []),
    ];
    await using machine = await bootMachine({ ...spec, firmware: 'ovmf', disks });
    const { line } = await machine.console.waitFor(/KINDLING-FATAL \{.*"uptime":[\d.]+\}/, {
      timeoutMs: 200_000,
    });
    expect(line).toMatch(/KND_IMAGE_(HASH|CORRUPT)/);
    const target = machine.disks[1] as DiskFile;
    expect((await target.read(0, MIB)).every((byte) => byte === 0)).toBe(true);
  });
});
