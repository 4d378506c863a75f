import { afterAll, beforeAll, expect, test } from 'vitest';
import { BUSES, FORMATS, ImageWriterLab, isInShortRun } from './image-writer-lab.ts';

let lab: ImageWriterLab;
beforeAll(async () => {
  lab = await ImageWriterLab.start();
  await lab.replaceDecoders();
});
afterAll(() => lab?.[Symbol.asyncDispose]());

/** MB that each writing process needed at most. */
const peaks: number[] = [];

// Every format with every bus, and the plug on every bus: image-writer-buses.long.test.ts
const pairs = FORMATS.flatMap((format) =>
  BUSES.filter((bus) => isInShortRun(format, bus)).map((bus) => [format, bus] as const),
);
test.each(pairs)('a %s image is written to a %s disk bit for bit', async (format, bus) => {
  peaks.push(await lab.expectWritten(format, bus));
});

test('the agent decompresses everything itself, without any program', async () => {
  // the xz that this question itself starts shows that the others would have been seen
  expect(await lab.calledDecoders()).toBe('/tmp/decoders/xz\n');
});

test('everything together, the waiting agent and the one that writes, stays below 300 MB', async () => {
  expect(peaks).toHaveLength(FORMATS.length);
  // what the others have for themselves; the program's own pages are shared with the one that wrote, and counted there
  const { output } = await lab.shell.run(
    "grep -h RssAnon /proc/[0-9]*/status | awk '{ sum += $2 } END { print sum }'",
  );
  const others = Number(output) / 1024;
  expect(others).toBeGreaterThan(0);
  expect(others + Math.max(...peaks)).toBeLessThan(300);
});

test(
  'the plug is pulled at a seeded point of a write to an NVMe disk: nothing boots, the next boot goes on',
  {
    timeout: 900_000,
  },
  () => lab.expectGoesOn('nvme'),
);
