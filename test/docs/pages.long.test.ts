import { beforeAll, expect, it } from 'vitest';
import { ensureMicroOs } from '../../initrd/index.ts';
import { ensureMutableTarget } from '../../lab/target-images/mutable.ts';
import { thisRepository } from '../repository.ts';
import { firstLie } from './first-lie.ts';
import { Reader } from './reader.ts';

const HOUR_MS = 3_600_000;
const { files, read } = thisRepository();

// They need a network where nothing is cached yet, and the reader has none.
beforeAll(async () => {
  await ensureMutableTarget();
  await ensureMicroOs('minimal');
}, HOUR_MS);

it.each(
  files.filter(
    (file) => /^docs\/(tutorial|how-to)\/.*\.md$/.test(file) && /^```\w+ runnable long/m.test(read(file)),
  ),
)(
  '%s: a reader who types all of it ends with the machine that the page promises',
  async (page) => {
    await using reader = await Reader.arrive();
    expect(await firstLie(read(page), reader, { withLong: true })).toBeUndefined();
  },
  HOUR_MS,
);
