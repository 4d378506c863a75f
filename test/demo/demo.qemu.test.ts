import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { readDemoOptions } from '../../demo/demo-options.ts';
import { runDemo } from '../../demo/run-demo.ts';
import { STAGES } from '../../demo/stages.ts';
import type { Machine } from '../../lab/qemu/machine.ts';
import { leftovers } from '../../lab/qemu/processes.ts';
import { waitFor } from '../../system/wait.ts';
import { type Inside, lookInside, whatItSaw } from '../provisioning/look-inside.ts';

const MAIN = 'demo/main.ts';
/** Where the root of the target image starts: the ESP before it has 48 MiB. */
const ROOT_OFFSET = 49 * 2 ** 20;

describe('npm run demo', () => {
  it('an empty machine becomes a running node, template «ubuntu»: every stage is shown, drawn, and true', async () => {
    let output = '';
    let nodeId = '';
    let inside: Partial<Inside> = {};
    let installed = { reported: '', blocks: 0, bootOrder: [''] };
    await runDemo(readDemoOptions({ nodes: '1', memory: '1024', picture: 'build/demo-test.svg' }), {
      terminal: { write: (text) => (output += text) },
      profile: { customConfigs: [lookInside()] },
      whenRunning: async ({ travelers: [traveler] }) => {
        if (!traveler) throw new Error('the demo has a node');
        nodeId = traveler.journey.id;
        inside = await whatItSaw(traveler.machine);
        installed = await switchOffAndRead(traveler.machine);
      },
    });
    for (const { title } of STAGES) expect(output).toMatch(new RegExp(`^✔ ${title} +[\\d.]+ s`, 'm'));
    expect(output).toMatch(/power-on to report +[\d.]+ s/);
    expect(output).toMatch(new RegExp(`its record: http://127.0.0.1:\\d+/api/v1/nodes/${nodeId}`));
    expect(readFileSync('build/demo-test.svg', 'utf8')).toContain('✔');
    rmSync('build/demo-test.svg');
    // cloud-init did what the user-data said, and the root has grown to the disk (1 KiB blocks)
    expect(inside).toMatchObject({
      hostname: nodeId,
      root: expect.stringMatching(/ rw$/),
      secureBoot: '0',
      tenant: expect.stringMatching(/^TENANT_ID=./),
      tracebacks: '0',
    });
    expect(installed.reported).toMatch(/Inode: \d+/);
    expect(installed.blocks).toBeGreaterThan(1_500_000);
    // the installed system leads the boot order, and the network comes next
    expect(installed.bootOrder[0]).toBe('Kindling');
    expect(installed.bootOrder[1]).toMatch(/PXEv4/);
    expect(leftovers()).toEqual([]);
  }, 1_200_000);

  it('ends cleanly at Ctrl-C in the middle', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kindling-demo-test-'));
    const demo = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', MAIN, '--bios', '--json'],
      {
        env: { ...process.env, TMPDIR: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    try {
      let output = '';
      demo.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      await waitFor(() => output.includes('"stage":"offer"') || undefined, {
        name: 'the first boot offer',
        timeoutMs: 120_000,
      });
      const children = childrenOf(demo.pid ?? 0);
      expect(children.length).toBeGreaterThan(0);
      demo.kill('SIGINT');
      const [exitCode] = await once(demo, 'exit');
      expect(exitCode).toBe(130);
      const isGone = () => (children.some((pid) => existsSync(`/proc/${pid}`)) ? undefined : true);
      await waitFor(isGone, { name: 'the end of every child process', timeoutMs: 60_000 });
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      demo.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.each([['--nodes', 'none'], ['--memory', '1'], ['--bioss']])('refuses %s %s', async (...args) => {
    const { exitCode, stderr } = await execa(process.execPath, [MAIN, ...args], { reject: false });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(args[0]);
  });
});

async function switchOffAndRead(machine: Machine) {
  await machine.qmp.execute('system_powerdown');
  await machine.waitForPowerOff({ timeoutMs: 120_000 });
  const disk = `${machine.disks[0]?.path}?offset=${ROOT_OFFSET}`;
  const read = async (command: string) => (await execa('debugfs', ['-R', command, disk])).stdout;
  const variables = machine.efiVariables();
  const order = variables.find(({ name }) => name === 'BootOrder')?.data ?? Buffer.alloc(0);
  const numbers = Array.from({ length: order.length / 2 }, (_, index) => order.readUInt16LE(index * 2));
  return {
    reported: await read('stat /etc/kindling/first-boot-reported'),
    blocks: Number(/Block count:\s+(\d+)/.exec(await read('show_super_stats -h'))?.[1]),
    bootOrder: numbers.map((number) => {
      const name = `Boot${number.toString(16).toUpperCase().padStart(4, '0')}`;
      const option = variables.find((variable) => variable.name === name)?.data ?? Buffer.alloc(0);
      return option.subarray(6).toString('utf16le').split('\0')[0] ?? '';
    }),
  };
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
