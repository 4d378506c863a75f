import { describe, expect, test } from 'vitest';
import { goToDisk } from '../../../agent/standalone/go-to-disk.ts';
import type { Installation } from '../../../agent/standalone/installation.ts';
import type { MachineStatus } from '../../../agent/standalone/stick-folder.ts';

const INSTALLED: MachineStatus = {
  state: 'installed',
  at: '2026-01-01',
  nodeId: 'n',
  configId: 'c',
  disk: 'S1',
};

/** What an installed machine does that was started from the stick again. */
async function again(before: Partial<MachineStatus>, firmware: 'uefi' | 'bios' = 'uefi') {
  const said: string[] = [];
  const written: MachineStatus[] = [];
  const actions: [string, Record<string, string>][] = [];
  const after = await goToDisk(
    {
      say: (text: string) => said.push(text),
      log: said,
      folder: { write: async (status: MachineStatus) => void written.push(status) },
      consoles: { names: [], marker: () => {} },
      machine: { listDisks: async () => [{ path: '/dev/sda', serial: 'S1' }] },
      inventory: { firmware: { kind: firmware } },
      stick: { bootPath: undefined },
      signal: new AbortController().signal,
      startChild: async (action: string, variables: Record<string, string>) => {
        actions.push([action, variables]);
        return { status: 'success', summary: 'ok', durationMs: 1 };
      },
    } as unknown as Installation,
    { ...INSTALLED, ...before },
  );
  return { after, said: said.join('\n'), written: written[0], actions };
}

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

describe('an installed machine that starts from the stick again', () => {
  test('is sent on to its disk, and the stick remembers that', async () => {
    const { after, written, actions } = await again({});
    expect(after).toBe('reboot');
    expect(actions).toEqual([['boot-order', { DEST_DISK: '/dev/sda' }]]);
    expect(written).toMatchObject({ state: 'installed', handOvers: 1 });
  });

  test('is switched off when that was of no use three times within minutes', async () => {
    const { after, said } = await again({ handOvers: 3, handedOverAt: minutesAgo(2) });
    expect(after).toBe('poweroff');
    expect(said).toContain('take the stick out');
  });

  test('is sent on for ever where days lie between', async () => {
    const { after, written } = await again({ handOvers: 3, handedOverAt: minutesAgo(60) });
    expect(after).toBe('reboot');
    expect(written?.handOvers).toBe(1);
  });

  test('is switched off when its disk is gone', async () => {
    const { after, said, actions } = await again({ disk: 'OTHER' });
    expect(after).toBe('poweroff');
    expect(said).toContain('its disk OTHER is gone');
    expect(actions).toEqual([]);
  });

  test('under BIOS, says so if the stick cannot be told to go on to the disk', async () => {
    const { said, actions } = await again({}, 'bios');
    expect(actions).toEqual([]);
    expect(said).toContain('take the stick out before the next start');
  });
});
