import { randomBytes, randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { BlockDevice } from '../../../actions/disks/block-device.ts';
import { planMicrovisorLayout } from '../../../actions/microvisor/layout.ts';
import { moveToLayout } from '../../../actions/microvisor/move-partitions.ts';
import { sealRoot } from '../../../actions/microvisor/seal-root.ts';
import { encodeGpt } from '../../../formats/partition-table/gpt-encode.ts';
import { readPartitionTable } from '../../../formats/partition-table/read.ts';
import { type LoopDisk, loopDisk } from '../loop-disk.ts';
import { withPowerCutAt } from '../power-cut.ts';

const MIB = 2 ** 20;
const context = { signal: new AbortController().signal, onProgress: () => {} };

describe('the seal of a root', () => {
  it.each([4, 40])(
    'of %i MiB is one that veritysetup accepts, and that breaks with one changed byte',
    async (mebibytes) => {
      await using loop = await loopDisk(64 * MIB);
      await execa('mke2fs', ['-q', '-t', 'ext4', '-b', '4096', loop.device, `${mebibytes}M`]);
      const hashes = { startBytes: 48 * MIB, sizeBytes: 8 * MIB };
      const device = await BlockDevice.open(loop.device);
      const rootHash = await sealRoot(
        { device, startBytes: 0, sizeBytes: 48 * MIB },
        { device, ...hashes },
        context,
      );
      await device[Symbol.asyncDispose]();

      const { stdout: hashDevice } = await execa('losetup', [
        '--find',
        '--show',
        '-o',
        String(hashes.startBytes),
        loop.device,
      ]);
      try {
        const verify = () =>
          execa('veritysetup', ['verify', loop.device, hashDevice, rootHash], { reject: false });
        expect((await verify()).exitCode).toBe(0);
        const { stdout } = await execa('veritysetup', ['dump', hashDevice]);
        expect(stdout).toMatch(new RegExp(`Data blocks:\\s+${mebibytes * 256}\\n`));
        const handle = await open(loop.device, 'r+');
        await handle.write('x', 3 * MIB);
        await handle.sync();
        await handle.close();
        expect((await verify()).exitCode).not.toBe(0);
      } finally {
        await execa('losetup', ['-d', hashDevice]);
      }
    },
  );

  it('defect 16: alone shows damage, not an attacker: its hash is a secret of nobody (decision 055)', async () => {
    await using loop = await loopDisk(16 * MIB);
    await execa('mke2fs', ['-q', '-t', 'ext4', '-b', '4096', loop.device, '4M']);
    await using device = await BlockDevice.open(loop.device);
    const hashes = { device, startBytes: 8 * MIB, sizeBytes: 8 * MIB };
    const seal = () => sealRoot({ device, startBytes: 0, sizeBytes: 8 * MIB }, hashes, context);
    const isAccepted = async (rootHash: string) => {
      await execa('cp', ['--sparse=always', loop.file, `${loop.file}.copy`]);
      const offset = `--hash-offset=${hashes.startBytes}`;
      const copy = `${loop.file}.copy`;
      return (
        (await execa('veritysetup', ['verify', offset, copy, copy, rootHash], { reject: false })).exitCode ===
        0
      );
    };
    const sealed = await seal();
    expect(await isAccepted(sealed)).toBe(true);
    await device.writeAt(3 * MIB, Buffer.alloc(4096, 'changed'));
    await device.sync();
    expect(await isAccepted(sealed)).toBe(false);
    expect(await isAccepted(await seal())).toBe(true);
  });
});

describe('the move to two slots', () => {
  const state = randomBytes(8 * MIB);

  /** A 33 GiB disk (sparse) with the three partitions of an image; the state partition holds known bytes. */
  async function imageDisk(): Promise<{
    loop: LoopDisk;
    partitions: Parameters<typeof encodeGpt>[0]['partitions'];
  }> {
    const loop = await loopDisk(33 * 2 ** 30);
    const type = '0fc63daf-8483-4772-8e79-3d69d8477de4';
    const partitions = [
      { number: 1, startBytes: MIB, sizeBytes: 4 * MIB, type, partUuid: randomUUID(), partLabel: 'esp' },
      {
        number: 2,
        startBytes: 5 * MIB,
        sizeBytes: 8 * MIB,
        type,
        partUuid: randomUUID(),
        partLabel: 'rootfs',
      },
      {
        number: 3,
        startBytes: 13 * MIB,
        sizeBytes: 8 * MIB,
        type,
        partUuid: randomUUID(),
        partLabel: 'edge_persistent',
      },
    ];
    await using device = await BlockDevice.open(loop.device);
    for (const { offset, bytes } of encodeGpt({
      diskGuid: randomUUID(),
      sectorBytes: 512,
      sizeBytes: device.sizeBytes,
      partitions,
    })) {
      await device.writeAt(offset, bytes);
    }
    await device.writeAt(13 * MIB, state);
    return { loop, partitions };
  }

  async function move(
    loop: LoopDisk,
    partitions: Parameters<typeof encodeGpt>[0]['partitions'],
    signal = context.signal,
  ) {
    await using device = await BlockDevice.open(loop.device);
    const table = await readPartitionTable(device.readAt.bind(device), device.sizeBytes, 512);
    const isMoved = table?.partitions.some(({ partLabel }) => partLabel === 'hashmap_a') ?? false;
    const planned = planMicrovisorLayout({
      sizeBytes: device.sizeBytes,
      sectorBytes: 512,
      partitions,
      ramBytes: 4 * 2 ** 30,
      otherDisks: 0,
      lvmGigabytes: 0,
      newGuid: randomUUID,
    });
    await moveToLayout(
      device,
      planned,
      { diskGuid: table?.id ?? '', sectorBytes: 512, isMoved },
      { signal, onProgress: () => {} },
    );
    return planned;
  }

  it('keeps the state partition, and run again changes nothing', async () => {
    const { loop, partitions } = await imageDisk();
    await using _ = loop;
    const { persistent } = await move(loop, partitions);
    await move(loop, partitions);
    await using device = await BlockDevice.open(loop.device);
    const table = await readPartitionTable(device.readAt.bind(device), device.sizeBytes, 512);
    expect(table?.partitions.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect((await device.readAt(persistent.startBytes, state.length)).equals(state)).toBe(true);
  });

  it('does not believe the journal of an earlier installation on the same disk', async () => {
    const { loop, partitions } = await imageDisk();
    await using _ = loop;
    await move(loop, partitions);
    const newState = randomBytes(state.length);
    {
      await using device = await BlockDevice.open(loop.device);
      for (const { offset, bytes } of encodeGpt({
        diskGuid: randomUUID(),
        sectorBytes: 512,
        sizeBytes: device.sizeBytes,
        partitions,
      })) {
        await device.writeAt(offset, bytes);
      }
      await device.writeAt(13 * MIB, newState);
    }
    const { persistent } = await move(loop, partitions);
    await using device = await BlockDevice.open(loop.device);
    expect((await device.readAt(persistent.startBytes, state.length)).equals(newState)).toBe(true);
  });

  it('killed at any write, a second run still has the whole state partition', async () => {
    let isThrough = false;
    for (let failAt = 1; !isThrough; failAt++) {
      const { loop, partitions } = await imageDisk();
      await using _ = loop;
      isThrough = await withPowerCutAt(failAt, () => move(loop, partitions));
      const { persistent } = await move(loop, partitions);
      await using device = await BlockDevice.open(loop.device);
      expect({
        failAt,
        isWhole: (await device.readAt(persistent.startBytes, state.length)).equals(state),
      }).toEqual({ failAt, isWhole: true });
    }
  });
});
