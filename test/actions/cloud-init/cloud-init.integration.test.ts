import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startChild } from '../../../actions/process/start-child.ts';
import { ext4Disk, type LoopDisk, withMounted } from '../loop-disk.ts';

let disk: LoopDisk;
let folder: string;
beforeAll(async () => {
  disk = await ext4Disk();
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-seed-'));
});
afterAll(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const good = { USER_DATA: '#cloud-config\nhostname: a\n' };
const SETTINGS = 'etc/cloud/cloud.cfg.d/99-kindling.cfg';

async function act(variables: Record<string, string>) {
  const lines: string[] = [];
  const outcome = await startChild(
    'cloud-init',
    { DEST_DISK: disk.device, FS_TYPE: 'ext4', ...variables },
    {
      stateDirectory: path.join(folder, 'state'),
      onEvent: (event) => event.type === 'log' && lines.push(event.message),
    },
  );
  return { outcome, lines };
}

describe('the action cloud-init', () => {
  it('gives a mutable system all that it was given, readable by root alone', async () => {
    const { outcome } = await act({
      ...good,
      META_DATA: 'rack: 7\n',
      NETWORK_CONFIG: 'version: 2\nethernets: {}\n',
      VENDOR_DATA: '#cloud-config\ntimezone: UTC\n',
      HOSTNAME: 'node-1.site.test',
      INSTANCE_ID: 'i-1',
      TARGET_KIND: 'mutable',
    });
    expect(outcome).toMatchObject({ status: 'success', data: { kind: 'mutable' } });
    await withMounted(disk.device, async (root) => {
      const seed = path.join(root, 'var/lib/cloud/seed/nocloud');
      expect((await readdir(seed)).sort()).toEqual([
        'meta-data',
        'network-config',
        'user-data',
        'vendor-data',
      ]);
      expect(parse(await readFile(path.join(seed, 'meta-data'), 'utf8'))).toEqual({
        rack: 7,
        'instance-id': 'i-1',
        'local-hostname': 'node-1.site.test',
      });
      expect((await stat(path.join(seed, 'user-data'))).mode & 0o777).toBe(0o600);
    });
  });

  it('gives an immutable one a single file, and recognizes it by itself', async () => {
    await withMounted(disk.device, (root) => writeFile(path.join(root, 'etc/layout.env'), ''));
    const { outcome } = await act({ ...good, VENDOR_DATA: '#cloud-config\n' });
    expect(outcome).toMatchObject({ status: 'success', data: { kind: 'immutable' } });
    await withMounted(disk.device, async (root) => {
      const { datasource } = parse(await readFile(path.join(root, SETTINGS), 'utf8'));
      expect(datasource.NoCloud).toMatchObject({
        'user-data': good.USER_DATA,
        'vendor-data': '#cloud-config\n',
      });
      expect(datasource.NoCloud['meta-data']['instance-id']).toMatch(/^iid-.+-[0-9a-f]{16}$/);
      await rm(path.join(root, 'etc/layout.env'));
    });
  });

  it('warns of a file of the image that cloud-init would follow instead', async () => {
    await withMounted(disk.device, async (root) => {
      await mkdir(path.join(root, 'etc/cloud/cloud.cfg.d'), { recursive: true });
      await writeFile(path.join(root, 'etc/cloud/cloud.cfg.d/installer.cfg'), 'datasource_list: [None]\n');
      await writeFile(path.join(root, 'etc/cloud/cloud.cfg.d/05_other.cfg'), 'datasource_list: [None]\n');
    });
    const { lines } = await act(good);
    expect(lines).toEqual([expect.stringContaining('installer.cfg')]);
    await withMounted(disk.device, (root) => rm(path.join(root, 'etc/cloud/cloud.cfg.d/installer.cfg')));
  });

  it.each([
    [{ USER_DATA: 'password: hunter2' }, 'KND_CLOUD_INIT_INVALID'],
    [{ USER_DATA: '#cloud-config\nntp: hunter2\n' }, 'KND_CLOUD_INIT_INVALID'],
    [{ VENDOR_DATA: 'hunter2' }, 'KND_CLOUD_INIT_INVALID'],
    [{ META_DATA: '- hunter2' }, 'KND_CLOUD_INIT_INVALID'],
    [{ NETWORK_CONFIG: 'password: hunter2' }, 'KND_CLOUD_INIT_INVALID'],
    [{ HOSTNAME: 'not a name' }, 'KND_ACTION_VARIABLES'],
    [{ TARGET_KIND: 'solid' }, 'KND_ACTION_VARIABLES'],
    [{ FS_TYPE: 'frobfs' }, 'KND_MOUNT_FAILED'],
    [{ USER_DATA: ' ' }, 'KND_ACTION_VARIABLES'],
  ])('%j fails with %s, writes nothing and shows no secret', async (wrong, code) => {
    const files = () => withMounted(disk.device, (root) => readFile(path.join(root, SETTINGS), 'utf8'));
    const before = await files();
    const { outcome, lines } = await act({ ...good, ...wrong });
    expect(outcome).toMatchObject({ status: 'failed', error: { code } });
    expect(JSON.stringify([outcome, lines])).not.toContain('hunter2');
    expect(await files()).toBe(before);
  });
});
