import { execFileSync } from 'node:child_process';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { eraseController, groupsOfOneErase } from '../../../actions/erase/erase-controller.ts';
import type { EraseContext } from '../../../actions/erase/erase-disk.ts';
import type { AdminCommand } from '../../../actions/erase/nvme-admin.ts';
import { Resources } from '../../../actions/resources/resources.ts';
import { machine } from '../../../agent/machine.ts';
import type { Disk } from '../../../protocol/inventory.ts';
import { run } from '../../../system/run.ts';
import { type LoopDisk, loopDisk, withMounted } from '../loop-disk.ts';

const [GET_LOG_PAGE, IDENTIFY, SANITIZE] = [0x02, 0x06, 0x84];

/** QEMU's controllers know no sanitize: one of ours, over real block devices, that erases all of them at the word of one. */
class Controller {
  readonly sent: number[] = [];
  readonly #namespaces: readonly LoopDisk[];
  /** How often the log still says that a sanitize is running. */
  running = 0;

  constructor(namespaces: readonly LoopDisk[]) {
    this.#namespaces = namespaces;
  }

  send: AdminCommand = (_, { opcode, readBytes = 0 }) => {
    this.sent.push(opcode);
    const answer = Buffer.alloc(readBytes);
    if (opcode === IDENTIFY) answer.writeUInt32LE(2, 328); // block erase
    if (opcode === GET_LOG_PAGE) answer.writeUInt16LE(this.running-- > 0 ? 2 : 1, 2);
    if (opcode === SANITIZE) {
      if (this.sent.filter((sent) => sent === SANITIZE).length > 1) throw new Error('sanitize in progress');
      for (const { device } of this.#namespaces) execFileSync('blkdiscard', ['-z', device]);
    }
    return answer;
  };
}

/** The loop devices as the namespaces of one controller. */
async function asNamespaces(loops: readonly LoopDisk[]): Promise<Disk[]> {
  const found = await machine.listDisks();
  return loops.map(({ device }, index) => {
    const disk = found.find(({ path }) => path === device);
    if (!disk) throw new Error(`the inventory does not list ${device}`);
    return { ...disk, name: `nvme47n${index + 1}`, kind: 'disk', bus: 'nvme', serial: `NS${index + 1}` };
  });
}

const contextWith = (nvme: AdminCommand, log: string[] = []): EraseContext => ({
  run,
  log: (_, message) => log.push(message),
  signal: new AbortController().signal,
  onProgress: () => {},
  resources: new Resources(),
  nvme,
});

const how = { method: 'nvme-sanitize', samples: 8 } as const;

describe('two namespaces of one NVMe controller', () => {
  it('are sanitized by one command, with a certificate for each', async () => {
    await using one = await loopDisk(80 << 20);
    await using two = await loopDisk(80 << 20);
    const controller = new Controller([one, two]);
    const context = contextWith(controller.send);
    const disks = await asNamespaces([one, two]);
    const groups = await groupsOfOneErase({ disks, ...how }, context);
    expect(groups).toEqual([disks]);
    const outcomes = await eraseController({ disks, ...how }, () => context);
    expect(outcomes).toMatchObject(
      ['NS1', 'NS2'].map((serial) => ({
        status: 'fulfilled',
        value: { disk: { serial }, method: 'nvme-sanitize', isProved: true, nistClass: 'purge' },
      })),
    );
    expect(controller.sent.filter((opcode) => opcode === SANITIZE)).toHaveLength(1);
  });

  it('of which one cannot be erased are both left as they are, and the other says why', async () => {
    await using one = await loopDisk(16 << 20);
    await using two = await loopDisk(16 << 20);
    await execa('mke2fs', ['-q', '-t', 'ext4', two.device]);
    const controller = new Controller([one, two]);
    const disks = await asNamespaces([one, two]);
    await withMounted(two.device, async () => {
      expect(await eraseController({ disks, ...how }, () => contextWith(controller.send))).toMatchObject([
        { reason: { code: 'KND_ERASE_INCOMPLETE', message: expect.stringContaining(two.device) } },
        { reason: { code: 'KND_DISK_BUSY' } },
      ]);
    });
    expect(controller.sent).not.toContain(SANITIZE);
  });

  it('of which one is to stay are refused before anything is touched', async () => {
    await using one = await loopDisk(16 << 20);
    await using two = await loopDisk(16 << 20);
    const controller = new Controller([one, two]);
    const [first, second] = (await asNamespaces([one, two])) as [Disk, Disk];
    const refused = groupsOfOneErase(
      { disks: [first], kept: [second], ...how },
      contextWith(controller.send),
    );
    await expect(refused).rejects.toMatchObject({
      code: 'KND_ERASE_UNSUPPORTED',
      message: expect.stringContaining(`${two.device} is to stay`),
    });
    expect(controller.sent).toEqual([IDENTIFY]);
  });

  it('are erased one by one where the method is of one namespace', async () => {
    await using one = await loopDisk(16 << 20);
    await using two = await loopDisk(16 << 20);
    const disks = await asNamespaces([one, two]);
    const { send } = new Controller([]);
    for (const method of ['nvme-format', 'quick'] as const) {
      expect(await groupsOfOneErase({ disks, method, samples: 2 }, contextWith(send))).toHaveLength(2);
    }
  });

  it('whose sanitize went on when the agent was killed are waited for', async () => {
    await using one = await loopDisk(80 << 20);
    const controller = new Controller([one]);
    controller.running = 1;
    const disks = await asNamespaces([one]);
    const outcomes = await eraseController({ disks, ...how }, () => contextWith(controller.send));
    expect(outcomes).toMatchObject([{ status: 'fulfilled' }]);
    expect(controller.sent.indexOf(GET_LOG_PAGE)).toBeLessThan(controller.sent.indexOf(SANITIZE));
  });
});
