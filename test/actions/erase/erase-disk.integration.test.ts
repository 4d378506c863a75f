import { open } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { eraseDisk } from '../../../actions/erase/erase-disk.ts';
import { runInChild } from '../../../actions/process/run-in-child.ts';
import { Resources } from '../../../actions/resources/resources.ts';
import { machine } from '../../../agent/machine.ts';
import type { ActionEvent } from '../../../protocol/action-events.ts';
import { isGenuine } from '../../../protocol/check-certificate.ts';
import type { SignedCertificate } from '../../../protocol/erasure-certificate.ts';
import type { Disk } from '../../../protocol/inventory.ts';
import { run } from '../../../system/run.ts';
import { type LoopDisk, loopDisk, withMounted } from '../loop-disk.ts';

/** The loop device as the inventory sees it, but as a disk. */
async function asDisk(loop: LoopDisk): Promise<Disk> {
  const found = (await machine.listDisks()).find(({ path: device }) => device === loop.device);
  if (!found) throw new Error(`the inventory does not list ${loop.device}`);
  return { ...found, kind: 'disk', serial: `loop-${path.basename(loop.device)}` };
}

/** A used disk: GPT, LUKS in the first partition, ext4 in the second, secret text in the middle. */
async function usedDisk(): Promise<LoopDisk> {
  const loop = await loopDisk(192 << 20);
  await execa('sfdisk', ['--quiet', loop.device], { input: 'label: gpt\nsize=32M\n,\n' });
  const second = await execa('losetup', ['--find', '--show', '-o', String(33 << 20), loop.device]);
  await execa('mke2fs', ['-q', '-t', 'ext4', second.stdout, '64M']);
  await execa('losetup', ['-d', second.stdout]);
  const handle = await open(loop.device, 'r+');
  await handle.write(Buffer.from('LUKS\xba\xbe\0\x02', 'latin1'), 0, 8, 1 << 20);
  await handle.write('TOP SECRET', 100 << 20);
  await handle.sync();
  await handle.close();
  return loop;
}

const erase = async (
  loop: LoopDisk,
  method: Parameters<typeof eraseDisk>[0]['method'],
  signal = new AbortController().signal,
) =>
  eraseDisk(
    { disk: await asDisk(loop), method, samples: 16 },
    { run, log: () => {}, signal, onProgress: () => {}, resources: new Resources() },
  );

async function textAt(loop: LoopDisk, offset: number): Promise<string> {
  const handle = await open(loop.device, 'r');
  const { buffer } = await handle.read(Buffer.alloc(10), 0, 10, offset);
  await handle.close();
  return buffer.toString();
}

describe('erasing a used disk', () => {
  it('quick removes both tables and every signature, and claims no more', async () => {
    await using loop = await usedDisk();
    expect(
      (await asDisk(loop)).partitions.flatMap(({ signatures }) => signatures.map(({ type }) => type)),
    ).toEqual(expect.arrayContaining(['crypto_LUKS', 'ext4']));
    expect(await erase(loop, 'quick')).toMatchObject({ nistClass: 'none', isProved: false, isBlank: true });
    expect(await asDisk(loop)).toMatchObject({ partitions: [], signatures: [] });
    expect(await textAt(loop, 100 << 20)).toBe('TOP SECRET');
    const { stdout } = await execa('wipefs', ['--no-act', loop.device]);
    expect(stdout).toBe('');
  });

  it.each(['discard', 'zeroes', 'overwrite'] as const)(
    '%s removes the data, and proves it',
    async (method) => {
      await using loop = await usedDisk();
      const certificate = await erase(loop, method);
      expect(certificate).toMatchObject({
        method,
        isProved: true,
        isBlank: true,
        nistClass: method === 'discard' ? 'none' : 'clear',
      });
      expect(certificate.samples).toHaveLength(16);
      expect(await textAt(loop, 100 << 20)).toBe('\0'.repeat(10));
    },
  );

  it('a disk in use is refused, with by whom', async () => {
    await using loop = await loopDisk(16 << 20);
    await execa('mke2fs', ['-q', '-t', 'ext4', loop.device]);
    await withMounted(loop.device, async () => {
      await expect(erase(loop, 'quick')).rejects.toMatchObject({
        code: 'KND_DISK_BUSY',
        message: expect.stringContaining(' on /'),
      });
    });
  });

  it('a tool that says it erased and did not is found out', async () => {
    await using loop = await usedDisk();
    const disk = await asDisk(loop);
    // blkdiscard that exits 0 and erases nothing, as an NVMe format did that FOG shipped for three years.
    const pretending: typeof run = async (program, args, options) =>
      program === 'blkdiscard'
        ? { stdout: '', stderr: '', exitCode: 0, durationMs: 1 }
        : run(program, args, options);
    // Two samples are at the ends of the disk, where signatures are cleared in any case: that must not pass for an erase.
    const lying = eraseDisk(
      { disk, method: 'discard', samples: 2 },
      {
        run: pretending,
        log: () => {},
        signal: new AbortController().signal,
        onProgress: () => {},
        resources: new Resources(),
      },
    );
    await expect(lying).rejects.toMatchObject({
      code: 'KND_ERASE_INCOMPLETE',
      evidence: { certificate: { isProved: false, nistClass: 'none' } },
    });
  });

  it('goes on with another method where a disk ignores discard and no proof was asked for', async () => {
    await using loop = await usedDisk();
    const disk = await asDisk(loop);
    const ignoring: typeof run = async (program, args, options) =>
      program === 'blkdiscard'
        ? { stdout: '', stderr: '', exitCode: 0, durationMs: 1 }
        : run(program, args, options);
    const said: string[] = [];
    const certificate = await eraseDisk(
      { disk, method: 'auto', samples: 4 },
      {
        run: ignoring,
        log: (_, message) => said.push(message),
        signal: new AbortController().signal,
        onProgress: () => {},
        resources: new Resources(),
      },
    );
    expect(certificate).toMatchObject({ method: 'quick', isProved: false });
    expect(said.join('\n')).toContain('ignores discard: test data written before the erase is still there');
    expect(said.join('\n')).toContain('Going on with quick');
  });

  it('canceled in the middle stops, and a second run finishes', async () => {
    await using loop = await usedDisk();
    const cancel = new AbortController();
    const canceled = eraseDisk(
      { disk: await asDisk(loop), method: 'overwrite', samples: 4 },
      {
        run,
        log: () => {},
        signal: cancel.signal,
        resources: new Resources(),
        onProgress: (_, percent) => (percent ?? 0) > 10 && cancel.abort(),
      },
    );
    await expect(canceled).rejects.toThrow();
    expect(await erase(loop, 'overwrite')).toMatchObject({ isProved: true });
  });
});

describe('erase_non_removable_disks', () => {
  it('defect 4: erases what is chosen, leaves the rest, and signs a certificate per disk', async () => {
    await using first = await usedDisk();
    await using second = await usedDisk();
    await using kept = await usedDisk();
    const disks = async () => [
      await asDisk(first),
      await asDisk(second),
      { ...(await asDisk(kept)), serial: 'DATA' },
      { ...(await asDisk(kept)), name: 'usb', path: '/dev/usb', bus: 'usb' as const },
    ];
    const events: ActionEvent[] = [];
    const result = await runInChild({
      action: 'erase_non_removable_disks',
      variables: { ERASE_KEEP: 'serial=DATA', ERASE_METHOD: 'zeroes' },
      machine: { listDisks: disks, secureBoot: async () => 'off' },
      signal: new AbortController().signal,
      emit: (event) => events.push(event),
    });
    const certificates = result.data?.['certificates'] as SignedCertificate[];
    expect(certificates).toHaveLength(2);
    expect(certificates.every(isGenuine)).toBe(true);
    expect((await asDisk(first)).partitions).toEqual([]);
    expect((await asDisk(kept)).partitions).toHaveLength(2);
    const plan = events.find((event) => event.type === 'plan');
    expect(plan?.summary.join('\n')).toMatch(
      /leaves alone .*ERASE_KEEP.*leaves alone \/dev\/usb: it is attached by USB/s,
    );
  });
  const perform = (
    variables: Record<string, string>,
    disks: () => Promise<Disk[]>,
    emit: (event: ActionEvent) => void = () => {},
  ) =>
    runInChild({
      action: 'erase_non_removable_disks',
      variables,
      machine: { listDisks: disks, secureBoot: async () => 'off' },
      signal: new AbortController().signal,
      emit,
    });

  it('with a CERTIFICATE_KEY that cannot sign fails before anything is erased', async () => {
    await using used = await usedDisk();
    const before = (await asDisk(used)).partitions.length;
    await expect(
      perform({ CERTIFICATE_KEY: 'x', ERASE_METHOD: 'quick' }, async () => [await asDisk(used)]),
    ).rejects.toMatchObject({ code: 'KND_ACTION_VARIABLES' });
    expect((await asDisk(used)).partitions).toHaveLength(before);
  });

  it('where one disk fails, names it and still certifies the others, in the log too', async () => {
    await using good = await usedDisk();
    await using busy = await loopDisk(64 << 20);
    await execa('mke2fs', ['-q', '-t', 'ext4', busy.device]);
    const events: ActionEvent[] = [];
    await withMounted(busy.device, async () => {
      const erasing = perform(
        { ERASE_METHOD: 'zeroes', ERASE_SAMPLES: '2', DETACH_REMOVABLE: 'false' },
        async () => [await asDisk(good), await asDisk(busy)],
        (event) => events.push(event),
      );
      await expect(erasing).rejects.toMatchObject({
        code: 'KND_DISK_BUSY',
        message: expect.stringMatching(new RegExp(`1 of 2 disks were not erased: .*${busy.device}`)),
        evidence: { certificates: [{ certificate: { disk: { path: good.device } } }] },
      });
    });
    const logged = events.flatMap((event) =>
      event.type === 'log' ? (event.fields?.['certificate'] ?? []) : [],
    );
    expect(logged.map((each) => isGenuine(each as SignedCertificate))).toEqual([true]);
  });

  it('a selector or a method it does not know fails before anything is erased', async () => {
    await using used = await usedDisk();
    const disks = async () => [await asDisk(used)];
    for (const [variables, code] of [
      [{ ERASE_ONLY: 'frob=1' }, 'KND_DISK_SELECTOR'],
      [{ ERASE_KEEP: 'model="' }, 'KND_DISK_SELECTOR'],
      [{ ERASE_METHOD: 'magnet' }, 'KND_ACTION_VARIABLES'],
      [{ ERASE_SAMPLES: '1' }, 'KND_ACTION_VARIABLES'],
      [{ DETACH_REMOVABLE: 'maybe' }, 'KND_ACTION_VARIABLES'],
      [{ KINDLING_REQUIRE_CONSENT: 'sometimes' }, 'KND_ACTION_VARIABLES'],
      [{ KINDLING_REQUIRE_CONSENT: 'always', KINDLING_CONSENT: 'wrong' }, 'KND_CONSENT_REQUIRED'],
    ] as const) {
      await expect(perform({ ...variables }, disks)).rejects.toMatchObject({ code });
    }
    await expect(perform({ ERASE_ONLY: 'serial=OTHER' }, disks)).resolves.toMatchObject({
      summary: 'erased no disk: there is none',
    });
    expect((await asDisk(used)).partitions).not.toEqual([]);
  });
});
