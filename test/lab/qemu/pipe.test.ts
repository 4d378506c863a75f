import { spawnSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { openPipe } from '../../../lab/qemu/pipe.ts';

const COUNT = 20_000;
/** Writes bytes one by one as QEMU does, and leaves out those there is no room for. */
const PROGRAM = `my $sent = 0; use Fcntl; fcntl(STDOUT, F_SETFL, O_NONBLOCK | O_WRONLY);
for (1 .. ${COUNT}) { $sent += syswrite(STDOUT, "x") // 0 } print STDERR $sent`;

it('takes a console written byte by byte while nobody reads, and ends when its writer does', async () => {
  const { output, writeEnd } = openPipe();
  const { stderr } = spawnSync('perl', ['-e', PROGRAM], {
    stdio: ['ignore', writeEnd, 'pipe'],
    encoding: 'utf8',
  });
  closeSync(writeEnd);
  expect(stderr).toBe(String(COUNT));
  expect((await text(output)).length).toBe(COUNT);
});
