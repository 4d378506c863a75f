import { expect, it } from 'vitest';
import { SerialConsole } from '../../lab/qemu/console.ts';
import { MicroOsShell } from './micro-os-shell.ts';

/** The answer of a shell to the question with this number: what lies in /tmp/out, and how the command ended. */
function answer(number: number, output: string, exitCode: number): string {
  const encoded = Buffer.from(output).toString('base64');
  const marker = `K${number}=${exitCode}=${output.length}=\r\n`;
  return `\r\nK${number}-${encoded}\r\n${marker}${marker}`;
}

it('a kernel message in the middle of the output: it is asked for again, and the command runs once', async () => {
  const typed: string[] = [];
  const replies = [
    answer(1, 'made /dev/sda1', 3).replace('K1-', 'K1-[   12.3] sda: sda1\r\n'),
    answer(2, 'made /dev/sda1', 3),
  ];
  const serial = new SerialConsole({
    write: (text) => {
      typed.push(text);
      queueMicrotask(() => serial.receive(`# ${text.replace('\n', '\r\n')}${replies.shift()}`));
    },
    elapsedMs: () => 0,
  });
  const shell = new MicroOsShell({ console: serial, powerCut: async () => {}, powerOn: async () => {} });
  expect(await shell.run('partition', 1000)).toEqual({ output: 'made /dev/sda1', exitCode: 3 });
  expect(typed.filter((text) => text.includes('partition'))).toHaveLength(1);
});
