import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyBootPlan } from '../../../actions/boot-order/boot-order.ts';
import { readBootState } from '../../../actions/boot-order/boot-state.ts';
import { type EfiVariables, efiVariables } from '../../../actions/boot-order/efi-variables.ts';
import { planBootOrder, type WantedBoot } from '../../../actions/boot-order/plan-boot-order.ts';
import { prepareLoaders } from '../../../actions/boot-order/system-partition.ts';
import { pathToLoader } from '../../../formats/efi/device-path.ts';
import { encodeLoadOption } from '../../../formats/efi/load-option.ts';
import { bootEntryName, encodeEntryNumbers } from '../../../formats/efi/variables.ts';
import { KindlingError } from '../../../protocol/error.ts';

const drive = {
  partition: 1,
  startLba: 2048n,
  sizeLba: 1000n,
  partUuid: '11111111-2222-3333-4444-555555555555',
};
const wanted: WantedBoot = {
  label: 'Kindling',
  drive,
  loader: '\\EFI\\BOOT\\BOOTX64.EFI',
  partitions: [drive.partUuid],
  policy: 'disk-first',
  removeLabels: [],
  demoteCurrent: false,
};

let directory: string;
let efi: EfiVariables;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'kindling-efi-'));
  efi = efiVariables(directory);
});
afterEach(async () => {
  await chmod(directory, 0o755);
  await rm(directory, { recursive: true });
});

/** A firmware with these entries, in this order, booted from the first. */
async function firmware(labels: string[]): Promise<void> {
  for (const [number, description] of labels.entries()) {
    const option = encodeLoadOption({
      attributes: 1,
      description,
      devicePath: [],
      optionalData: Buffer.from('x'),
    });
    await efi.write(bootEntryName(number), option);
  }
  await efi.write('BootOrder', encodeEntryNumbers([...labels.keys()]));
  await efi.write('BootCurrent', encodeEntryNumbers([0]));
}

async function apply(changes: Partial<WantedBoot> = {}) {
  const plan = planBootOrder(await readBootState(efi), { ...wanted, ...changes });
  const problem = await applyBootPlan(efi, plan);
  return { plan, problem, state: await readBootState(efi) };
}

describe('setting the boot order', () => {
  it('adds an entry for the disk, puts it first and sends the next boot to it; foreign entries stay as they were', async () => {
    await firmware(['UEFI PXEv4', 'Ubuntu', 'Windows Boot Manager']);
    const before = await efi.read('Boot0001');
    const { state, problem } = await apply();
    expect(problem).toBeUndefined();
    expect(state).toMatchObject({ order: [3, 0, 1, 2], next: 3 });
    expect(state.entries.get(3)).toMatchObject({ description: 'Kindling', attributes: 1 });
    expect(await efi.read('Boot0001')).toEqual(before);
    const file = await readFile(
      path.join(directory, (await readdir(directory)).find((name) => name.startsWith('BootOrder')) ?? ''),
    );
    expect(file.readUInt32LE(0)).toBe(7); // non-volatile, boot services, run time
  });

  it('run twice changes nothing the second time', async () => {
    await firmware(['PXE']);
    await apply();
    expect((await apply()).plan.changes).toEqual([]);
  });

  it('after a reinstall removes the duplicates of ours, and only those', async () => {
    await firmware(['PXE', 'Kindling', 'Kindling', 'Kindling of a friend']);
    const { state } = await apply();
    expect([...state.entries.values()].map(({ description }) => description).sort()).toEqual([
      'Kindling',
      'Kindling of a friend',
      'PXE',
    ]);
    expect(state.order).toEqual([4, 0, 3]);
  });

  it.each(['Kindling', 'ubuntu'])(
    'an entry “%s” for another system that is there stays, one whose partition is gone goes',
    async (label) => {
      const there = 'aaaaaaaa-2222-3333-4444-555555555555';
      const gone = 'bbbbbbbb-2222-3333-4444-555555555555';
      await firmware(['PXE']);
      for (const [number, partUuid] of [
        [1, there],
        [2, gone],
        [3, drive.partUuid],
      ] as const) {
        const devicePath = pathToLoader({ ...drive, partUuid }, '\\EFI\\ubuntu\\shimx64.efi');
        const option = { attributes: 1, description: label, devicePath, optionalData: Buffer.alloc(0) };
        await efi.write(bootEntryName(number), encodeLoadOption(option));
      }
      await efi.write('BootOrder', encodeEntryNumbers([0, 1, 2, 3]));
      const before = await efi.read('Boot0001');
      const { state } = await apply({ label, partitions: [drive.partUuid, there] });
      expect([...state.entries.keys()].sort()).toEqual([0, 1, 4]);
      expect(state.order).toEqual([4, 0, 1]);
      expect(await efi.read('Boot0001')).toEqual(before);
    },
  );

  it('BOOT_LABEL that names a network entry costs nobody that entry', async () => {
    await firmware(['UEFI PXEv4']);
    const { state } = await apply({ label: 'UEFI PXEv4' });
    expect(state.entries.size).toBe(2);
  });

  it('after-report lets the network lead, with the disk behind it, until the installed system has reported', async () => {
    await firmware(['UEFI NVMe', 'UEFI PXEv4', 'Ubuntu']);
    await efi.write('BootCurrent', encodeEntryNumbers([1]));
    const { state } = await apply({ policy: 'after-report', demoteCurrent: true });
    expect(state).toMatchObject({ order: [1, 3, 0, 2], next: 3 });
  });

  it('after-report keeps the order where the firmware does not tell what it booted from', async () => {
    await firmware(['UEFI NVMe', 'UEFI PXEv4']);
    await efi.write('BootCurrent', encodeEntryNumbers([9]));
    const { state } = await apply({ policy: 'after-report' });
    expect(state).toMatchObject({ order: [0, 1, 2], next: 2 });
  });

  it('keep-order leaves PXE first and still boots the disk once', async () => {
    await firmware(['PXE', 'Ubuntu']);
    const { state } = await apply({ policy: 'keep-order' });
    expect(state).toMatchObject({ order: [0, 1, 2], next: 2 });
  });

  it('as efibootset: what was booted goes to the end, “hookos” goes', async () => {
    await firmware(['PXE', 'HookOS installer', 'Ubuntu']);
    const { state } = await apply({ demoteCurrent: true, removeLabels: ['hookos'] });
    expect(state.order).toEqual([3, 2, 0]);
    expect(state.entries.has(1)).toBe(false);
    expect(state.entries.get(0)?.attributes).toBe(1);
  });

  it('works on a firmware without any entry', async () => {
    expect((await apply()).state).toMatchObject({ order: [0], next: 0 });
  });

  it('makes the entry before it is in the order, and removes last, so that a power cut leaves a bootable machine', async () => {
    await firmware(['PXE', 'Kindling']);
    const names = planBootOrder(await readBootState(efi), wanted).changes.map(({ name }) => name);
    expect(names).toEqual(['Boot0002', 'BootNext', 'BootOrder', 'Boot0001']);
  });

  it.each([
    ['boot-order', {}],
    ['efibootset', { demoteCurrent: true, removeLabels: ['hookos'] }],
    ['boot-order after-report', { policy: 'after-report' }],
  ] as const)(
    '%s, stopped after any of its changes, leaves a firmware that boots, and a second run ends as the first would have',
    async (_, changes) => {
      const labels = ['PXE', 'HookOS installer', 'Kindling', 'Ubuntu'];
      const names = (state: Awaited<ReturnType<typeof readBootState>>) =>
        state.order.map((number) => state.entries.get(number)?.description);
      await firmware(labels);
      const whole = await apply(changes);
      const { length } = whole.plan.changes;
      expect(length).toBeGreaterThanOrEqual(3);
      for (let done = 0; done < length; done++) {
        for (const file of await readdir(directory)) await rm(path.join(directory, file));
        await firmware(labels);
        const plan = planBootOrder(await readBootState(efi), { ...wanted, ...changes });
        await applyBootPlan(efi, { ...plan, changes: plan.changes.slice(0, done) });
        const stopped = await readBootState(efi);
        expect(names(stopped), `after ${done} changes`).not.toContain(undefined);
        if (stopped.next !== undefined) expect(stopped.entries.has(stopped.next)).toBe(true);
        expect(stopped.entries.get(3)?.description).toBe('Ubuntu');

        const { state } = await apply(changes);
        expect(names(state)).toEqual(names(whole.state));
        expect(state.entries.size).toBe(whole.state.entries.size);
        expect(state.entries.get(state.next ?? -1)?.description).toBe('Kindling');
      }
    },
  );

  it('an entry whose device path is the same is ours even from an older file', async () => {
    const option = {
      attributes: 1,
      description: 'Kindling',
      devicePath: pathToLoader(drive, wanted.loader),
      optionalData: Buffer.alloc(0),
    };
    await efi.write('Boot0007', encodeLoadOption(option));
    expect((await apply()).plan.entry).toBe(7);
  });
});

describe('a firmware that does not cooperate', () => {
  const failing = (code: string): EfiVariables => ({
    ...efi,
    write: async (name) => {
      throw new KindlingError(code === 'ENOSPC' ? 'KND_NVRAM_FULL' : 'KND_NVRAM_READ_ONLY', name);
    },
  });

  it.each([
    ['ENOSPC', 'KND_NVRAM_FULL'],
    ['EROFS', 'KND_NVRAM_READ_ONLY'],
  ])('%s is named %s', async (errno, code) => {
    const plan = planBootOrder(await readBootState(efi), wanted);
    expect(await applyBootPlan(failing(errno), plan)).toMatchObject({ code });
  });

  it('one that forgets what it was told is found out', async () => {
    const plan = planBootOrder(await readBootState(efi), wanted);
    const forgetful: EfiVariables = { ...efi, write: async () => {} };
    expect(await applyBootPlan(forgetful, plan)).toMatchObject({ code: 'KND_NVRAM_READ_ONLY' });
  });
});

describe('the loader on the system partition', () => {
  const put = async (...files: string[]) => {
    for (const file of files) {
      await mkdir(path.join(directory, path.dirname(file)), { recursive: true });
      await writeFile(path.join(directory, file), file);
    }
  };
  const prepare = (wantedLoader?: string) =>
    prepareLoaders(directory, { wanted: wantedLoader, mayCopy: true, architecture: 'x64' });

  it('at the removable path is left alone, and a shim is what the entry names', async () => {
    await put('EFI/BOOT/BOOTX64.EFI', 'EFI/ubuntu/shimx64.efi', 'EFI/ubuntu/grubx64.efi');
    expect(await prepare()).toEqual({ loader: '\\EFI\\ubuntu\\shimx64.efi', removable: 'was there' });
    expect(await readFile(path.join(directory, 'EFI/BOOT/BOOTX64.EFI'), 'utf8')).toBe('EFI/BOOT/BOOTX64.EFI');
  });

  it('at the removable path comes before a kernel, which it would choose itself among two slots', async () => {
    await put('EFI/BOOT/BOOTX64.EFI', 'EFI/Linux/edge-a.efi', 'EFI/Linux/edge-b.efi');
    expect(await prepare()).toEqual({ loader: '\\EFI\\BOOT\\BOOTX64.EFI', removable: 'was there' });
    expect(await prepare('\\EFI\\Linux\\edge-b.efi')).toMatchObject({
      loader: '\\EFI\\Linux\\edge-b.efi',
    });
  });

  it('is copied to the removable path if none is there, a shim with what it starts', async () => {
    await put('EFI/ubuntu/shimx64.efi', 'EFI/ubuntu/grubx64.efi', 'EFI/ubuntu/mmx64.efi');
    expect(await prepare()).toEqual({ loader: '\\EFI\\ubuntu\\shimx64.efi', removable: 'copied' });
    expect((await readdir(path.join(directory, 'EFI/BOOT'))).sort()).toEqual([
      'BOOTX64.EFI',
      'grubx64.efi',
      'mmx64.efi',
    ]);
  });

  it('that a kill left half copied is copied again, and never booted before it is whole', async () => {
    await put('EFI/ubuntu/shimx64.efi', 'EFI/ubuntu/grubx64.efi');
    await mkdir(path.join(directory, 'EFI/BOOT'), { recursive: true });
    await writeFile(path.join(directory, 'EFI/BOOT/grubx64.efi'), 'EFI/ubu');
    await writeFile(path.join(directory, 'EFI/BOOT/KINDLING.NEW'), 'EFI');
    expect(await prepare()).toEqual({ loader: '\\EFI\\ubuntu\\shimx64.efi', removable: 'copied' });
    const inBoot = async (name: string) => readFile(path.join(directory, 'EFI/BOOT', name), 'utf8');
    expect(await inBoot('BOOTX64.EFI')).toBe('EFI/ubuntu/shimx64.efi');
    expect(await inBoot('grubx64.efi')).toBe('EFI/ubuntu/grubx64.efi');
    expect(await readdir(path.join(directory, 'EFI/BOOT'))).not.toContain('KINDLING.NEW');
  });

  it('may be a unified kernel image alone, and stays it when its copy is there already', async () => {
    await put('EFI/Linux/linux-6.12.efi');
    expect(await prepare()).toMatchObject({ loader: '\\EFI\\Linux\\linux-6.12.efi', removable: 'copied' });
    expect(await prepare()).toMatchObject({ loader: '\\EFI\\Linux\\linux-6.12.efi', removable: 'was there' });
  });

  it('that was named must be there', async () => {
    await put('EFI/BOOT/BOOTX64.EFI');
    await expect(prepare('\\EFI\\x.efi')).rejects.toMatchObject({ code: 'KND_LOADER_NONE' });
    expect(await prepare('\\efi\\boot\\bootx64.efi')).toMatchObject({ removable: 'was there' });
  });

  it('nowhere, or of an unknown name, is no success', async () => {
    await expect(prepare()).rejects.toMatchObject({ code: 'KND_LOADER_NONE' });
    await put('EFI/other/start.efi');
    await expect(prepare()).rejects.toMatchObject({
      code: 'KND_LOADER_NONE',
      message: expect.stringContaining('\\EFI\\other\\start.efi'),
    });
    expect(await prepare('\\EFI\\other\\start.efi')).toMatchObject({ removable: 'copied' });
  });
});
