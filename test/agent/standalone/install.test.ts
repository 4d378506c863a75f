import { createHash, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { ActionOutcome } from '../../../actions/process/start-child.ts';
import { installFromStick } from '../../../agent/standalone/install.ts';
import type { StickContext } from '../../../agent/standalone/installation.ts';
import type { Disk, Inventory } from '../../../protocol/inventory.ts';
import {
  encodePayloadHeader,
  encodeStickKey,
  FIRST_NIC_MAC,
  type StickManifest,
} from '../../../protocol/stick.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindling-install-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const IMAGE = Buffer.from('the image');
const sha256 = createHash('sha256').update(IMAGE).digest('hex');

function manifest(machine: Partial<StickManifest['machines'][number]> = {}): StickManifest {
  return {
    stickId: 'stick-1',
    createdAt: '2026-01-01',
    createdBy: 'test',
    files: [
      { name: 'image/os.raw', offset: 1024 * 1024, size: IMAGE.length, sha256 },
      { name: 'artifacts/k3s', offset: 1024 * 1024, size: IMAGE.length, sha256 },
    ],
    image: 'image/os.raw',
    machines: [
      {
        match: 'default',
        refuse: false,
        configId: 'cfg',
        diskSelector: 'bus=nvme',
        wipeOthers: false,
        confirm: 'none',
        countdownSeconds: 0,
        after: 'poweroff',
        userData: '#cloud-config\n',
        networkConfig: `mac: ${FIRST_NIC_MAC}\n`,
        hostname: 'edge',
        targetKind: 'mutable',
        artifacts: [{ name: 'artifacts/k3s', path: '/opt/k3s', mode: '0755' }],
        ...machine,
      },
    ],
  };
}

interface Call {
  action: string;
  variables: Record<string, string>;
  isDryRun: boolean;
  /** Whether the target disk had its first sector then. */
  canStart: boolean;
  fetched?: string;
}

/** A machine with a stick of this manifest; actions are recorded, and fetch what they are given an address of. */
async function installWith(
  stick: StickManifest,
  options: { failing?: string; commandLine?: string } = {},
): Promise<{ calls: Call[]; after: string }> {
  const payload = join(folder, `payload-${Math.random()}`);
  const bytes = Buffer.alloc(2 * 1024 * 1024);
  encodePayloadHeader(stick, privateKey).copy(bytes);
  IMAGE.copy(bytes, 1024 * 1024);
  writeFileSync(payload, bytes);
  const medium = {
    isBootMedium: true,
    path: '/dev/sdb',
    partitions: [{ number: 3, path: payload, partLabel: 'kindling-payload' }],
  } as unknown as Disk;
  const target = join(folder, `disk-${Math.random()}`);
  writeFileSync(target, Buffer.alloc(4096, 'boot'));
  const disk = {
    path: target,
    serial: 'TARGET',
    logicalSectorBytes: 512,
    partitions: [{ number: 3, path: '/dev/state', partLabel: 'edge_persistent' }],
  } as unknown as Disk;
  const calls: Call[] = [];
  const context: StickContext = {
    args: parseKernelArguments(
      options.commandLine ?? `kindling.stick=stick-1 kindling.stick_key=${encodeStickKey(publicKey)}`,
    ),
    inventory: {
      identity: { nodeId: 'node-1', serial: 'A1', macs: [], evidence: [] },
      nics: [
        { mac: '52:54:00:00:00:01', hasLink: false },
        { mac: '52:54:00:00:00:02', hasLink: true },
      ],
      firmware: { kind: 'uefi', secureBoot: 'off' },
    } as unknown as Inventory,
    view: { line: () => {} } as unknown as StickContext['view'],
    consoles: { names: [], marker: () => {} },
    signal: new AbortController().signal,
    machine: { listDisks: async () => [medium, disk], secureBoot: async () => 'off' },
    run: async () => ({ stdout: '', stderr: '', exitCode: 0, durationMs: 0 }),
    startChild: async (action, variables, { isDryRun = false } = {}): Promise<ActionOutcome> => {
      const url = variables['IMG_URL'] ?? variables['URL'];
      const fetched = url === undefined ? {} : { fetched: await (await fetch(url)).text() };
      const canStart = readFileSync(target).toString('latin1', 0, 4) === 'boot';
      calls.push({ action, variables, isDryRun, canStart, ...fetched });
      const error = { code: 'KND_IMAGE_HASH', message: 'wrong', hint: 'h', retryable: false, causes: [] };
      if (action === options.failing && !isDryRun) return { status: 'failed', error, durationMs: 1 };
      return {
        status: 'success',
        summary: 'ok',
        data: { planHash: `plan of ${action}`, disk: { path: target } },
        durationMs: 1,
      };
    },
  };
  const after = await installFromStick(context).catch((thrown: unknown) => {
    throw Object.assign(thrown as Error, { calls, target });
  });
  return { calls, after };
}

describe('installing from a stick', () => {
  test('runs the actions of the network path in order, from the machine’s own address', async () => {
    const { calls, after } = await installWith(manifest());
    expect(after).toBe('poweroff');
    expect(calls.map(({ action, isDryRun }) => `${action}${isDryRun ? ' (dry run)' : ''}`)).toEqual([
      'image2disk (dry run)',
      'image2disk',
      'cloud-init',
      'fetchfile',
      'boot-order',
    ]);
    expect(calls.flatMap(({ fetched }) => fetched ?? [])).toEqual(['the image', 'the image', 'the image']);
    expect(calls[1]?.variables).toMatchObject({
      SHA256: sha256,
      KINDLING_DISK: 'bus=nvme',
      KINDLING_REQUIRE_CONSENT: 'always',
      KINDLING_CONSENT: 'plan of image2disk',
    });
    expect(calls[2]?.variables).toMatchObject({
      NETWORK_CONFIG: 'mac: 52:54:00:00:00:02\n',
      INSTANCE_ID: 'iid-node-1-cfg',
      HOSTNAME: 'edge',
    });
    expect(calls[3]?.variables).toMatchObject({ DEST_PATH: '/opt/k3s', MODE: '0755', SHA256: sha256 });
  });

  test('the disk cannot start before everything is on it', async () => {
    const { calls } = await installWith(manifest());
    expect(calls.map(({ action, canStart }) => [action, canStart])).toEqual([
      ['image2disk', true],
      ['image2disk', true],
      ['cloud-init', false],
      ['fetchfile', false],
      ['boot-order', true],
    ]);
    const failed = installWith(manifest(), { failing: 'fetchfile' });
    const { target } = (await failed.catch((error: unknown) => error)) as { target: string };
    expect(
      readFileSync(target)
        .subarray(0, 512)
        .every((byte) => byte === 0),
    ).toBe(true);
  });

  test('an immutable image gets its artifacts on its state partition, and its seal after all that changes the root', async () => {
    const seal = { isEncrypted: false, lvmGigabytes: 20 };
    const { calls } = await installWith(manifest({ targetKind: 'immutable', seal }));
    expect(calls.slice(2).map(({ action }) => action)).toEqual([
      'cloud-init',
      'fetchfile',
      'fde_dmv',
      'boot-order',
    ]);
    expect(calls[3]?.variables).toMatchObject({ DEST_DISK: '/dev/state', DEST_PATH: '/k3s' });
    expect(calls[4]?.variables).toEqual({
      ENABLE_ONLY_DMVERITY: 'true',
      LVM_SIZE: '20',
      KINDLING_OTHER_DISKS: 'leave',
    });
  });

  test('a disk is not encrypted from a stick that has no place for its recovery key', async () => {
    const seal = { isEncrypted: true, lvmGigabytes: 0 };
    const { calls } = await installWith(manifest({ targetKind: 'immutable', seal }));
    // Without an address fde_dmv refuses: KND_ESCROW_NONE.
    expect(calls.find(({ action }) => action === 'fde_dmv')?.variables).toEqual({
      ENABLE_ONLY_DMVERITY: 'false',
      LVM_SIZE: '0',
      KINDLING_OTHER_DISKS: 'leave',
    });
  });

  test('a volume group is made before the disk is held back, because that writes the table', async () => {
    const { calls } = await installWith(manifest({ lvmGigabytes: 5 }));
    expect(calls[2]).toMatchObject({ action: 'lvm-partition', variables: { LVM_SIZE: '5' }, canStart: true });
    expect(calls[3]).toMatchObject({ action: 'cloud-init', canStart: false });
  });

  test('other disks are erased only if the file says so, only as the plan showed, and only once the image is good', async () => {
    const wiping = manifest({ wipeOthers: true, lvmGigabytes: 5 });
    const { calls } = await installWith(wiping);
    expect(
      calls.slice(0, 6).map(({ action, isDryRun, canStart }) => ({ action, isDryRun, canStart })),
    ).toEqual([
      { action: 'image2disk', isDryRun: true, canStart: true },
      { action: 'erase_non_removable_disks', isDryRun: true, canStart: true },
      { action: 'image2disk', isDryRun: false, canStart: true },
      { action: 'erase_non_removable_disks', isDryRun: false, canStart: false },
      { action: 'lvm-partition', isDryRun: false, canStart: true },
      { action: 'cloud-init', isDryRun: false, canStart: false },
    ]);
    expect(calls[2]?.variables).toMatchObject({ KINDLING_CONSENT: 'plan of image2disk' });
    expect(calls[3]?.variables).toMatchObject({
      DETACH_REMOVABLE: 'false',
      ERASE_KEEP: expect.stringMatching(/^path=.*disk-/),
      KINDLING_CONSENT: 'plan of erase_non_removable_disks',
    });
    const failed = installWith(wiping, { failing: 'image2disk' });
    const thrown = (await failed.catch((error: unknown) => error)) as { calls: Call[] };
    expect(thrown.calls.filter(({ action, isDryRun }) => !isDryRun && action !== 'image2disk')).toEqual([]);
  });

  test('a failed action ends it with the action’s own code; nothing runs after it', async () => {
    const failure = installWith(manifest(), { failing: 'image2disk' });
    await expect(failure).rejects.toMatchObject({ code: 'KND_IMAGE_HASH' });
    const thrown = (await failure.catch((error: unknown) => error)) as { calls: Call[] };
    expect(thrown.calls.at(-1)?.action).toBe('image2disk');
  });

  test('before anything runs: a machine that is refused, another key, another stick', async () => {
    await expect(installWith(manifest({ refuse: true }))).rejects.toMatchObject({
      code: 'KND_STICK_MACHINE_REFUSED',
    });
    const otherKey = encodeStickKey(generateKeyPairSync('ed25519').publicKey);
    const commandLine = `kindling.stick=stick-1 kindling.stick_key=${otherKey}`;
    await expect(installWith(manifest(), { commandLine })).rejects.toMatchObject({
      code: 'KND_STICK_SIGNATURE',
    });
    const otherStick = `kindling.stick=stick-2 kindling.stick_key=${encodeStickKey(publicKey)}`;
    await expect(installWith(manifest(), { commandLine: otherStick })).rejects.toMatchObject({
      code: 'KND_STICK_SIGNATURE',
    });
  });
});
