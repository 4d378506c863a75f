import { beforeAll, expect, it } from 'vitest';
import { ensureMicroOs } from '../../initrd/index.ts';
import { ensureMutableTarget } from '../../lab/target-images/mutable.ts';
import { thisRepository } from '../repository.ts';
import { firstLie } from './first-lie.ts';
import { Reader } from './reader.ts';

/** What the reader of a page has before the first command: files, a network. */
const READER_HAS: Record<string, string> = {};

const { files, read } = thisRepository();
const pages = files.filter(
  (file) =>
    /^docs\/(tutorial|how-to)\/.*\.md$/.test(file) &&
    /^ *```(sh|console) runnable( background)?$/m.test(read(file)),
);

// They take minutes where nothing is cached yet, and a network, which the reader has not.
beforeAll(async () => {
  await ensureMutableTarget();
  await ensureMicroOs('minimal');
}, 1_200_000);

it.each(pages)(
  '%s: every command that boots no machine does what the page says',
  async (page) => {
    await using reader = await Reader.arrive();
    expect(await reader.type(READER_HAS[page] ?? 'true')).toMatchObject({ exitCode: 0 });
    expect(await firstLie(read(page), reader)).toBeUndefined();
  },
  300_000,
);
