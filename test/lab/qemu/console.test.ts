import { describe, expect, it } from 'vitest';
import { isKernelMessage, SerialConsole } from '../../../lab/qemu/console.ts';

function makeConsole() {
  const typed: string[] = [];
  let now = 0;
  const serial = new SerialConsole({ write: (text) => typed.push(text), elapsedMs: () => now });
  return { serial, typed, at: (ms: number) => (now = ms) };
}

describe('the console', () => {
  it('gives every line the time at which it was complete', () => {
    const { serial, at } = makeConsole();
    at(10);
    serial.receive('first\r\nsec');
    at(20);
    serial.receive('ond\r\n');
    expect(serial.lines).toEqual([
      { text: 'first', atMs: 10 },
      { text: 'second', atMs: 20 },
    ]);
  });

  it('takes escape sequences out, also when they come in two pieces', () => {
    const { serial } = makeConsole();
    serial.receive('\x1b[2J\x1b[01;01H\x1b[1mBoot\x1b');
    serial.receive('[0m menu\n');
    expect(serial.text).toBe('Boot menu');
  });

  it('takes a progress line that is written over as one line each time', () => {
    const { serial } = makeConsole();
    serial.receive('10 %\r20 %\r30 %\r\n');
    expect(serial.lines.map(({ text }) => text)).toEqual(['10 %', '20 %', '30 %']);
  });

  it('finds what was said before, what comes later, and a prompt that ends in no line', async () => {
    const { serial } = makeConsole();
    serial.receive('ready\n');
    await serial.waitFor('ready');
    const prompt = serial.waitFor(/^login: $/, { prompt: true, timeoutMs: 1000 });
    serial.receive('log');
    serial.receive('in: ');
    expect((await prompt).mark).toBe(2);
  });

  it('does not read half an address from half a line', async () => {
    const { serial } = makeConsole();
    const waiting = serial.waitFor(/address (\S+)/, { timeoutMs: 1000 });
    serial.receive('address 10.0.');
    serial.receive('2.15\r');
    serial.receive('\n');
    expect((await waiting).groups[1]).toBe('10.0.2.15');
  });

  it('looks only at what comes after the mark', async () => {
    const { serial } = makeConsole();
    serial.receive('boot 1\n');
    const after = serial.mark();
    const second = serial.waitFor(/boot (\d)/, { after, timeoutMs: 1000 });
    serial.receive('boot 2\n');
    expect((await second).groups[1]).toBe('2');
  });

  it('does not take half a line for a panic when the whole line is what is waited for', async () => {
    const { serial } = makeConsole();
    const waiting = serial.waitFor(/Unable to mount root fs/, { timeoutMs: 1000 });
    serial.receive('Kernel panic - not syncing: VFS: Unable to mount');
    serial.receive(' root fs on unknown-block(0,0)\n');
    await waiting;
  });

  it('takes the last words of a machine that went off for a panic', async () => {
    const { serial } = makeConsole();
    const waiting = serial.waitFor('login:', { timeoutMs: 1000 });
    serial.receive('Kernel panic - not syncing: Attem');
    serial.end('the machine is off');
    await expect(waiting).rejects.toThrow(/the machine said “Kernel panic/);
  });

  it('gives up at a kernel panic', async () => {
    const { serial } = makeConsole();
    const waiting = serial.waitFor('login:', { timeoutMs: 1000 });
    serial.receive('Kernel panic - not syncing: Attempted to kill init!\n');
    await expect(waiting).rejects.toMatchObject({ code: 'KND_VM_ENDED' });
  });
});

it.each([
  ['[    0.000000] Linux version 6.1.0', true],
  ['[  123.456789] nvme nvme0: 1/0/0 queues', true],
  ['[    1.000000] Kernel panic - not syncing: no init', false],
  ['KINDLING-STAGE {"stage":"identity"}', false],
])('%j is a message of the kernel: %s', (text, isOne) => {
  expect(isKernelMessage(text)).toBe(isOne);
});
