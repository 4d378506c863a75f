import { afterAll, beforeAll, describe, test } from 'vitest';
import { BUSES, FORMATS, ImageWriterLab, isInShortRun } from './image-writer-lab.ts';

let lab: ImageWriterLab;
beforeAll(async () => {
  lab = await ImageWriterLab.start();
});
afterAll(() => lab?.[Symbol.asyncDispose]());

// What image-writer.qemu.test.ts leaves out: it writes every format once, to one of the three buses.
describe.each(FORMATS)('a %s image', (format) => {
  test.each(BUSES.filter((bus) => !isInShortRun(format, bus)))(
    'is written to a %s disk bit for bit',
    async (bus) => {
      await lab.expectWritten(format, bus);
    },
  );
});

test.each(['virtio', 'sata'] as const)(
  'the plug is pulled at a seeded point of a write to a %s disk: nothing boots, the next boot goes on',
  { timeout: 900_000 },
  (bus) => lab.expectGoesOn(bus),
);
