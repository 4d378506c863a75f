import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startChild } from '../../../actions/process/start-child.ts';
import { ext4Disk, type LoopDisk, withMounted } from '../loop-disk.ts';

let folder: string;
let disk: LoopDisk;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'kindling-post-mortem-'));
  disk = await ext4Disk();
});
afterEach(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Dry: on a machine with UEFI the crash dumps of this very machine must stay. */
function examine(device: string) {
  return startChild(
    'post-mortem',
    { DEST_DISK: device },
    { isDryRun: true, stateDirectory: path.join(folder, 'state') },
  );
}

async function install(files: Record<string, string>): Promise<void> {
  await withMounted(disk.device, async (root) => {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(root, name)), { recursive: true });
      await writeFile(path.join(root, name), content);
    }
  });
}

const contentOf = async () =>
  createHash('sha256')
    .update(await readFile(disk.file))
    .digest('hex');

describe('the post-mortem of an installed system', () => {
  it('says how far it came, and changes not a byte, although the file system was not closed', async () => {
    await install({
      'var/log/cloud-init.log': 'x - handlers.py[DEBUG]: start: init-network/config-bootcmd: running\n',
    });
    await execa('debugfs', ['-w', '-R', 'feature needs_recovery', disk.device]);
    await execa('sync');
    const before = await contentOf();
    expect(await examine(disk.device)).toMatchObject({
      status: 'success',
      summary: 'it stopped inside cloud-init, in init-network/config-bootcmd',
      data: { code: 'KND_FIRST_BOOT_FAILED' },
    });
    expect(await contentOf()).toBe(before);
  });

  it('reads the journal of a system that could not report', async () => {
    await install({
      'var/log/cloud-init.log': 'all went well\n',
      'var/log/kindling/first-boot.log': 'node first-boot.sh[9]: curl: (7) Failed to connect\n',
    });
    expect(await examine(disk.device)).toMatchObject({
      summary: 'it ran, but its report did not get through: curl: (7) Failed to connect',
    });
  });

  it('does not follow a link out of the installed system', async () => {
    await install({ 'var/log/x': '' });
    await withMounted(disk.device, async (root) => {
      await execa('ln', ['-s', '/etc/hostname', path.join(root, 'var/log/cloud-init.log')]);
    });
    expect(await examine(disk.device)).toMatchObject({
      summary:
        'cloud-init never ran: the machine did not start its disk, or loader, kernel or root file system stopped it',
    });
  });

  it('says so when there is no root to read', async () => {
    await execa('wipefs', ['--all', '--quiet', disk.device]);
    expect(await examine(disk.device)).toMatchObject({
      summary: expect.stringMatching(/^its root cannot be read: KND_MOUNT_FAILED/),
    });
  });
});
