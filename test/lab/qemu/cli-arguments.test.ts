import { describe, expect, it } from 'vitest';
import { parseQemuArguments } from '../../../lab/qemu/cli-arguments.ts';

function accepted(...args: string[]) {
  const command = parseQemuArguments(args);
  if (command === 'help') throw new Error('no command');
  return command;
}

describe('npm run qemu', () => {
  it('describes a machine and an action', () => {
    const words =
      '--disk nvme:4G,serial=A1 --disk sata,file=x.raw --nic e1000,mac=52:54:00:00:00:01,link=down --memory 384 ' +
      '--firmware ovmf --action image2disk --set IMG_URL=http://10.0.2.2/x=y --profile full --keep';
    expect(parseQemuArguments(words.split(' '))).toMatchObject({
      machine: {
        firmware: 'ovmf',
        memoryMb: 384,
        disks: [
          { bus: 'nvme', size: 4 * 2 ** 30, serial: 'A1' },
          { bus: 'sata', file: 'x.raw' },
        ],
        nics: [{ model: 'e1000', mac: '52:54:00:00:00:01', link: 'down' }],
      },
      action: 'image2disk',
      variables: { IMG_URL: 'http://10.0.2.2/x=y' },
      profile: 'full',
      keepDisks: true,
    });
  });

  it('gives a machine with one NIC and a console when nothing is asked for', () => {
    expect(parseQemuArguments([])).toMatchObject({
      machine: { nics: [{ model: 'virtio' }] },
      action: undefined,
    });
  });

  it('is a node of an orchestrator: UEFI, the memory of a node, the state folder', () => {
    expect(parseQemuArguments(['--orchestrator', '--state', '/s'])).toMatchObject({
      machine: { firmware: 'ovmf', memoryMb: 1024 },
      orchestratorState: '/s',
    });
    expect(parseQemuArguments([])).toMatchObject({ orchestratorState: undefined });
  });

  it('starts from a stick, then from the disks', () => {
    const { machine, hasStick } = accepted('--stick', 's.img', '--disk', 'nvme:1G');
    expect(hasStick).toBe(true);
    expect(machine.disks).toEqual([
      { bus: 'usb', file: 's.img', removable: true, bootIndex: 1 },
      { bus: 'nvme', size: 2 ** 30, bootIndex: 2 },
    ]);
  });

  it.each([
    [['--state', '/s'], '--orchestrator'],
    [['--orchestrator', '--stick', 'x'], 'exclude each other'],
    [['--disk', 'floppy:1M'], 'floppy'],
    [['--disk', 'nvme:4Q'], '4Q'],
    [['--disk', 'nvme'], 'size'],
    [['--disk', 'nvme:4G,file=x'], 'one of the two'],
    [['--disk', 'nvme:4G,color=red'], 'color'],
    [['--nic', 'ne2000'], 'ne2000'],
    [['--memory', '0'], '--memory'],
    [['--firmware', 'coreboot'], 'coreboot'],
    [['--set', 'A=1'], '--action'],
    [['--action', 'wipe', '--set', 'A'], 'NAME=VALUE'],
    [['--clock', 'yesterday'], 'yesterday'],
    [['--nonsense'], '--nonsense'],
    [['stray'], 'stray'],
  ])('%j is refused with exit code 2 and says why', (args, part) => {
    let thrown: unknown;
    try {
      parseQemuArguments(args);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ exitCode: 2, message: expect.stringContaining(part) });
  });
});
