import { spawnSync } from 'node:child_process';
import { constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openConsoles } from '../../../agent/console/consoles.ts';
import { createView } from '../../../agent/console/view.ts';
import { KindlingError } from '../../../protocol/error.ts';
import { parseKernelArguments } from '../../../system/kernel-arguments.ts';
import { machineFiles } from '../../../system/machine-files.ts';
import { MadeUpMachine } from '../inventory/hardware-zoo.ts';

function machine(active: string): MadeUpMachine {
  const box = new MadeUpMachine()
    .file('/proc/uptime', '12.34 1.00')
    .file('/sys/class/tty/console/active', `${active}\n`);
  for (const name of active.split(' ')) box.file(`/dev/${name}`, '');
  return box;
}
const NO_ARGUMENTS = parseKernelArguments('');
const shown = (box: MadeUpMachine, name: string) => readFileSync(join(box.root, 'dev', name), 'utf8');

test('text for people is on every console, lines for programs only on the serial ones', async () => {
  using box = machine('tty0 ttyS0');
  const files = machineFiles(box.root);
  const consoles = openConsoles(files, NO_ARGUMENTS);
  const view = createView(files, consoles);
  view.line('network', 'eth0: link up');
  view.reached('identity', { nodeId: 'n1' });
  await consoles.flush();
  expect(shown(box, 'tty0')).toBe('[   12.3] network   eth0: link up\r\n');
  expect(shown(box, 'ttyS0')).toBe(
    '[   12.3] network   eth0: link up\r\nKINDLING-STAGE {"stage":"identity","nodeId":"n1","uptime":12.34}\r\n',
  );
});

test('a notice shows code, reason and next step', async () => {
  using box = machine('ttyS0');
  const files = machineFiles(box.root);
  const consoles = openConsoles(files, NO_ARGUMENTS);
  createView(files, consoles).notice(
    'clock',
    new KindlingError('KND_CLOCK_WRONG', 'it was 2001', { hint: 'Replace the battery.' }),
  );
  await consoles.flush();
  expect(shown(box, 'ttyS0')).toContain(
    'clock     KND_CLOCK_WRONG: it was 2001\r\n[   12.3] clock       next: Replace the battery.\r\n',
  );
  expect(shown(box, 'ttyS0')).toContain('KINDLING-NOTICE {"code":"KND_CLOCK_WRONG"');
});

test('a serial port that the kernel did not take, because it takes one of a kind, is a console all the same', async () => {
  using box = machine('ttyS0');
  box.file('/dev/ttyS1', '');
  const consoles = openConsoles(
    machineFiles(box.root),
    parseKernelArguments('console=ttyS1,115200 console=ttyS7 console=ttyS0,115200'),
  );
  expect(consoles.names).toEqual(['ttyS0', 'ttyS1']);
  consoles.print('hello');
  await consoles.flush();
  expect(shown(box, 'ttyS1')).toBe('hello\r\n');
});

test('a console that does not exist harms nobody', async () => {
  using box = machine('ttyS0');
  box.file('/sys/class/tty/console/active', 'ttyS9 ttyS0');
  const consoles = openConsoles(machineFiles(box.root), NO_ARGUMENTS);
  consoles.print('hello');
  await consoles.flush();
  expect(shown(box, 'ttyS0')).toBe('hello\r\n');
});

test('a console that takes nothing does not hold up the agent; what it missed is said once it reads again', async () => {
  using box = machine('ttyS0');
  box.file('/sys/class/tty/console/active', 'ttyS1');
  const pipe = join(box.root, 'dev/ttyS1');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const consoles = openConsoles(machineFiles(box.root), NO_ARGUMENTS);
  const startedAt = performance.now();
  for (let index = 0; index < 4000; index += 1) consoles.print(`line ${index} ${'x'.repeat(60)}`);
  expect(performance.now() - startedAt).toBeLessThan(1000);
  let text = '';
  const chunk = Buffer.alloc(1 << 17);
  const drain = () => {
    try {
      text += chunk.toString('utf8', 0, readSync(reader, chunk));
    } catch {
      // nothing there at the moment
    }
  };
  for (let round = 0; round < 20; round += 1) {
    drain();
    await delay(20);
  }
  consoles.print('the end');
  await consoles.flush();
  drain();
  expect(text).toContain('line 0 x');
  expect(text).toMatch(/… \d+ lines left out, this console was too slow\r\nthe end\r\n$/);
});

test('a line that is printed while somebody types stands above the question, which is shown again with what was typed', async () => {
  using box = machine('ttyS0');
  const consoles = openConsoles(machineFiles(box.root), NO_ARGUMENTS);
  consoles.write('ttyS0', 'Username: ');
  consoles.write('ttyS0', 'ad');
  consoles.print('eth0: link up');
  consoles.write('ttyS0', 'a\r\n');
  consoles.print('the end');
  await consoles.flush();
  expect(shown(box, 'ttyS0')).toBe('Username: ad\r\x1b[Keth0: link up\r\nUsername: ada\r\nthe end\r\n');
});

test('a question may be asked on a console that shows nothing else', async () => {
  using box = machine('ttyS0');
  box.file('/dev/ttyS1', '');
  const consoles = openConsoles(machineFiles(box.root), NO_ARGUMENTS);
  consoles.write('ttyS1', 'Username: ');
  consoles.print('hello');
  await consoles.flush();
  expect(shown(box, 'ttyS1')).toBe('Username: ');
});
