import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BlockDevice } from '../../../actions/disks/block-device.ts';
import { runInChild } from '../../../actions/process/run-in-child.ts';
import { startChild } from '../../../actions/process/start-child.ts';
import { machine } from '../../../agent/machine.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import { ext4Disk, loopDisk } from '../loop-disk.ts';
import { withPowerCutAt } from '../power-cut.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-rootio-'));
});
afterAll(() => rm(folder, { recursive: true }));

const act = (action: string, variables: Record<string, string>, args: string[] = []) =>
  startChild(action, variables, { args, stateDirectory: path.join(folder, 'state') });

describe('rootio', () => {
  const metadata = async (
    device: string,
    filesystems: object[] = [],
    partitions: object[] = [
      { label: 'EFI', number: 1, size: 20480 },
      { label: 'ROOT', number: 2, size: 0 },
    ],
  ) => {
    const file = path.join(folder, 'metadata.json');
    await writeFile(
      file,
      JSON.stringify({
        metadata: {
          instance: { storage: { disks: [{ device, wipe_table: true, partitions }], filesystems } },
        },
      }),
    );
    return { JSON_FILE: file, TEST: 'y' };
  };

  it('partitions, and wipes again', async () => {
    await using loop = await loopDisk(64 << 20);
    const variables = await metadata(loop.device);
    expect(await act('rootio', variables, ['partition'])).toMatchObject({ status: 'success' });
    const table = async () => {
      await using device = await BlockDevice.open(loop.device);
      return await readPartitionTable(device.readAt.bind(device), device.sizeBytes);
    };
    expect((await table())?.partitions.map(({ partLabel }) => partLabel)).toEqual(['EFI', 'ROOT']);
    const { stdout } = await execa('sfdisk', ['--verify', loop.device]);
    expect(stdout).toContain('No errors detected');
    expect(await act('rootio', variables, ['wipe'])).toMatchObject({ status: 'success' });
    expect(await table()).toBeUndefined();
  });

  it('formats, and fails when it fails', async () => {
    await using loop = await loopDisk(64 << 20);
    const ext4 = await metadata(loop.device, [
      { mount: { device: loop.device, format: 'ext4', point: '/', create: { options: ['-L', 'ROOT'] } } },
    ]);
    expect(await act('rootio', ext4, ['format'])).toMatchObject({ status: 'success' });
    expect((await execa('blkid', ['-o', 'value', '-s', 'LABEL', loop.device])).stdout).toBe('ROOT');
    const missing = await metadata(loop.device, [
      { mount: { device: '/dev/nothing', format: 'ext4', point: '/' } },
    ]);
    expect(await act('rootio', missing, ['format'])).toMatchObject({
      status: 'failed',
      error: { code: 'KND_COMMAND_FAILED' },
    });
  });

  it('does not format what the Micro-OS was started from', async () => {
    await using loop = await loopDisk(16 << 20);
    const variables = await metadata(loop.device, [
      { mount: { device: `${loop.device}p1`, format: 'ext4' } },
    ]);
    const disks = await machine.listDisks();
    const listDisks = async () =>
      disks.map((each) => (each.path === loop.device ? { ...each, isBootMedium: true } : each));
    const request = {
      signal: new AbortController().signal,
      emit: () => {},
      args: ['format'],
      isDryRun: true,
    };
    await expect(
      runInChild({ ...request, action: 'rootio', variables, machine: { ...machine, listDisks } }),
    ).rejects.toMatchObject({ code: 'KND_DISK_REFUSED' });
  });

  it('with MBR writes one that sfdisk reads, over a GUID table, and again', async () => {
    await using loop = await loopDisk(64 << 20);
    const labels = [
      { label: 'FAT32_ACTIVE', number: 1, size: 20480 },
      { label: 'SWAP', number: 2, size: 20480 },
      { label: 'LINUX', number: 3, size: 0 },
    ];
    expect(await act('rootio', await metadata(loop.device), ['partition'])).toMatchObject({
      status: 'success',
    });
    for (const _ of [1, 2]) {
      const variables = { ...(await metadata(loop.device, [], labels)), MBR: 'y' };
      expect(await act('rootio', variables, ['partition'])).toMatchObject({ status: 'success' });
      const { stdout } = await execa('sfdisk', ['--json', loop.device]);
      expect(JSON.parse(stdout).partitiontable).toMatchObject({
        label: 'dos',
        partitions: [{ type: 'c', bootable: true }, { type: '82' }, { type: '83' }],
      });
    }
  });

  it.each([
    ['partition', {}],
    ['partition', { MBR: 'y' }],
    ['wipe', {}],
  ])('%s %j, stopped at any write, is made whole by a second run', async (command, variables) => {
    const labels = [{ label: 'LINUX', number: 1, size: 0 }];
    const isMbr = 'MBR' in variables;
    const isAsItShould = async (device: string) => {
      const { stdout } = await execa('sfdisk', ['--json', device], { reject: false });
      const table = stdout === '' ? undefined : JSON.parse(stdout).partitiontable;
      if (command === 'wipe') return expect(table).toBeUndefined();
      expect(table).toMatchObject({ label: isMbr ? 'dos' : 'gpt', partitions: [{ start: 2048 }] });
      expect((await execa('sfdisk', ['--verify', device])).stdout).toContain('No errors detected');
    };
    let isThrough = false;
    for (let failAt = 1; !isThrough; failAt++) {
      await using loop = await loopDisk(16 << 20);
      const common = { action: 'rootio', machine, signal: new AbortController().signal, emit: () => {} };
      await runInChild({ ...common, args: ['partition'], variables: await metadata(loop.device) });
      const request = {
        ...common,
        args: [command],
        variables: { ...(await metadata(loop.device, [], labels)), ...variables },
      };
      isThrough = await withPowerCutAt(failAt, () => runInChild(request));
      if (failAt === 1) expect(isThrough).toBe(false);
      await runInChild(request);
      await isAsItShould(loop.device);
    }
  });

  it('formats over what a killed mkfs has left, and again', async () => {
    await using loop = await loopDisk(16 << 20);
    const fat = { device: loop.device, format: 'vfat', point: '/' };
    const ext4 = { device: loop.device, format: 'ext4', point: '/' };
    expect(await act('rootio', await metadata(loop.device, [{ mount: fat }]), ['format'])).toMatchObject({
      status: 'success',
    });
    await execa('dd', ['if=/dev/zero', `of=${loop.device}`, 'bs=4096', 'count=1', 'seek=1']);
    for (const _ of [1, 2]) {
      expect(await act('rootio', await metadata(loop.device, [{ mount: ext4 }]), ['format'])).toMatchObject({
        status: 'success',
      });
      expect((await execa('e2fsck', ['-fn', loop.device], { reject: false })).exitCode).toBe(0);
    }
  });

  it('with MBR refuses a label or a fifth partition it cannot have, and changes nothing', async () => {
    await using loop = await loopDisk(64 << 20);
    const five = [1, 2, 3, 4, 5].map((number) => ({ label: 'LINUX', number, size: 2048 }));
    for (const labels of [[{ label: 'EFI', number: 1, size: 0 }], five]) {
      const variables = { ...(await metadata(loop.device, [], labels)), MBR: 'y' };
      expect(await act('rootio', variables, ['partition'])).toMatchObject({
        status: 'failed',
        error: { code: 'KND_PARTITION_LAYOUT' },
      });
    }
    expect((await readFile(loop.file)).subarray(0, 1 << 20).every((byte) => byte === 0)).toBe(true);
  });

  it('mounts below /mnt, the shortest path first, and leaves it mounted', async () => {
    await using loop = await ext4Disk();
    const point = `/kindling-test-${process.pid}`;
    const variables = await metadata(loop.device, [
      { mount: { device: loop.device, format: 'ext4', point } },
    ]);
    try {
      for (const _ of [1, 2]) {
        expect(await act('rootio', variables, ['mount'])).toMatchObject({ status: 'success' });
        const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n');
        expect(mounts.filter((line) => line.startsWith(`${loop.device} /mnt${point} ext4`))).toHaveLength(1);
      }
    } finally {
      await execa('umount', [`/mnt${point}`], { reject: false });
      await rm(`/mnt${point}`, { recursive: true, force: true });
    }
  });

  it.each([
    ['', {}, 'KND_ACTION_VARIABLES'],
    ['erase', {}, 'KND_ACTION_VARIABLES'],
    ['partition', {}, 'KND_ACTION_VARIABLES'],
    ['partition', { METADATA_SERVICE_PORT: '0' }, 'KND_ACTION_VARIABLES'],
    ['partition', { JSON_FILE: 'relative' }, 'KND_ACTION_VARIABLES'],
    ['partition', { MIRROR_HOST: 'http://127.0.0.1' }, 'KND_ACTION_VARIABLES'],
    ['partition', { MIRROR_HOST: '127.0.0.1', KINDLING_REQUIRE_CONSENT: 'x' }, 'KND_ACTION_VARIABLES'],
    ['partition', { MIRROR_HOST: '127.0.0.1', METADATA_SERVICE_PORT: '1' }, 'KND_DOWNLOAD'],
  ])('%j with %j is refused with %s before anything is touched', async (command, variables, code) => {
    expect(await act('rootio', variables as Record<string, string>, command ? [command] : [])).toMatchObject({
      status: 'failed',
      error: { code },
    });
  });

  it('tells its version without metadata, as the reference does', async () => {
    expect(await act('rootio', {}, ['version'])).toMatchObject({ status: 'success' });
  });

  it('asks before it formats where the site wants it, and only about what is not empty', async () => {
    await using loop = await loopDisk(64 << 20);
    const root = { mount: { device: loop.device, format: 'ext4', create: { options: ['-L', 'FIRST'] } } };
    const variables = { ...(await metadata(loop.device, [root])), KINDLING_REQUIRE_CONSENT: 'non-empty' };
    expect(await act('rootio', variables, ['format'])).toMatchObject({ status: 'success' });
    const asked = await act('rootio', variables, ['format']);
    expect(asked).toMatchObject({
      status: 'failed',
      error: { code: 'KND_CONSENT_REQUIRED', message: expect.stringContaining('ext4 "FIRST"') },
    });
    const KINDLING_CONSENT = asked.status === 'failed' ? String(asked.error.evidence?.['hash']) : '';
    const again = { ...variables, KINDLING_CONSENT };
    expect(await act('rootio', again, ['format'])).toMatchObject({ status: 'success' });
  });

  it.each(['partition', 'wipe', 'format'])(
    '%s leaves a disk alone that is another one than was planned for, and says what it leaves alone anyway',
    async (command) => {
      await using loop = await loopDisk(64 << 20);
      await using other = await loopDisk(16 << 20);
      const fs = { mount: { device: loop.device, format: 'ext4' } };
      const variables = await metadata(loop.device, [fs]);
      const plans: string[] = [];
      let asked = 0;
      const listDisks = async () => {
        asked++;
        return (await machine.listDisks()).map((each) =>
          each.path === loop.device ? { ...each, serial: asked === 1 ? 'PLANNED' : 'SWAPPED' } : each,
        );
      };
      const acting = runInChild({
        action: 'rootio',
        variables,
        args: [command],
        machine: { ...machine, listDisks },
        signal: new AbortController().signal,
        emit: (event) => event.type === 'plan' && plans.push(...event.summary),
      });
      await expect(acting).rejects.toMatchObject({ code: 'KND_PLAN_STALE' });
      expect((await readFile(loop.file)).every((byte) => byte === 0)).toBe(true);
      expect(plans.join('\n')).toContain(`leaves alone ${other.device}: the metadata does not name it`);
    },
  );

  it('a disk that the metadata names twice is refused', async () => {
    await using loop = await loopDisk(64 << 20);
    const file = path.join(folder, 'twice.json');
    const entry = { device: loop.device, partitions: [{ label: 'A', number: 1, size: 0 }] };
    const storage = { disks: [entry, entry] };
    await writeFile(file, JSON.stringify({ metadata: { instance: { storage } } }));
    expect(await act('rootio', { JSON_FILE: file }, ['partition'])).toMatchObject({
      status: 'failed',
      error: { code: 'KND_METADATA_INVALID' },
    });
  });

  it.each([
    [{ label: 'A', number: 0, size: 0 }],
    [{ label: 'A', number: 1, size: -1 }],
    [{ label: 'A', number: 1, size: 'much' }],
    [{ label: 'A', number: 1, size: 1e9 }],
    [
      { label: 'A', number: 1, size: 2048 },
      { label: 'B', number: 1, size: 0 },
    ],
    [
      { label: 'A', number: 1, size: 0 },
      { label: 'B', number: 2, size: 2048 },
    ],
  ])('partitions that cannot be (%j) are refused, and the disk stays as it is', async (...partitions) => {
    await using loop = await loopDisk(64 << 20);
    const variables = await metadata(loop.device, [], partitions);
    const outcome = await act('rootio', variables, ['partition']);
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: expect.stringMatching(/^KND_(PARTITION_LAYOUT|METADATA_INVALID|DISK_TOO_SMALL)$/) },
    });
    expect((await readFile(loop.file)).every((byte) => byte === 0)).toBe(true);
  });

  it('fetches the metadata from the service', async () => {
    await using loop = await loopDisk(64 << 20);
    const { JSON_FILE } = await metadata(loop.device);
    await using server = createServer((_, response) => response.end(readFileSync(JSON_FILE)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const variables = { MIRROR_HOST: '127.0.0.1', METADATA_SERVICE_PORT: String(port) };
    expect(await act('rootio', variables, ['partition'])).toMatchObject({ status: 'success' });
    expect((await execa('sfdisk', ['--json', loop.device])).stdout).toContain('"label": "gpt"');
  });
});
