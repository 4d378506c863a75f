import { beforeAll, expect, it } from 'vitest';
import { ensureMicroOs } from '../../initrd/index.ts';
import { ensureMutableTarget } from '../../lab/target-images/mutable.ts';
import { thisRepository } from '../repository.ts';
import { firstLie } from './first-lie.ts';
import { Reader } from './reader.ts';

/** What the reader of a page has before the first command: files, a network. */
const READER_HAS: Record<string, string> = {
  'docs/how-to/boot-over-the-network.md': `mkdir tftp; ip link add eth1 type veth peer name floor
    ip address add 10.0.0.1/24 dev eth1; ip link set eth1 up; ip link set floor up`,
  'docs/how-to/build-the-micro-os.md': 'touch bnx2-mips-09-6.2.1b.fw',
  'docs/how-to/migrate-a-standalone-config.md': `printf 'user_name="edge"\\nhost_type="container"\\n' > config-file`,
  'docs/how-to/publish-an-image.md': `truncate -s 16M disk.raw; mke2fs -q -F disk.raw
    kindling image index disk.raw -o old.zst; cp old.zst.manifest new.zst.manifest`,
};

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
