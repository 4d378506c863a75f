import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StartChildOptions, startChild } from '../../../actions/process/start-child.ts';
import type { ActionEvent } from '../../../protocol/action-events.ts';
import { ext4Disk, type LoopDisk, loopDisk, withMounted } from '../loop-disk.ts';

let disk: LoopDisk;
let stateDirectory: string;
beforeAll(async () => {
  disk = await ext4Disk();
  stateDirectory = await mkdtemp(path.join(tmpdir(), 'kindling-state-'));
});
afterAll(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(stateDirectory, { recursive: true });
});

const mountsOf = async (device: string) =>
  (await readFile('/proc/mounts', 'utf8')).split('\n').filter((line) => line.startsWith(`${device} `));

/** Processes by their command line, as pgrep's pattern. */
async function pidsOf(pattern: string): Promise<number[]> {
  const { stdout } = await execa('pgrep', ['-f', pattern], { reject: false });
  return stdout.split('\n').filter(Boolean).map(Number);
}

function act(action: string, variables: Record<string, string>, context: StartChildOptions = {}) {
  return startChild(action, variables, { stateDirectory, ...context });
}

describe('writefile', () => {
  it('makes the file with its directories, owners and modes, and leaves nothing mounted', async () => {
    const outcome = await act('quay.io/tinkerbell/actions/writefile:latest', {
      DEST_DISK: disk.device,
      FS_TYPE: 'ext4',
      DEST_PATH: '/etc/cloud/ds-identify.cfg',
      CONTENTS: 'datasource: NoCloud\n',
      UID: '7',
      GID: '8',
      MODE: '0600',
      DIRMODE: '0700',
    });
    expect(outcome).toMatchObject({ status: 'success' });
    await withMounted(disk.device, async (root) => {
      const file = path.join(root, 'etc/cloud/ds-identify.cfg');
      expect(await readFile(file, 'utf8')).toBe('datasource: NoCloud\n');
      expect(await stat(file)).toMatchObject({ uid: 7, gid: 8, mode: 0o100600 });
      expect(await stat(path.join(root, 'etc/cloud'))).toMatchObject({ uid: 7, gid: 8, mode: 0o40700 });
    });
    expect(await mountsOf(disk.device)).toEqual([]);
  });

  it('run again gives an existing file the new content and mode', async () => {
    const variables = { DEST_DISK: disk.device, DEST_PATH: '/again', CONTENTS: 'one', MODE: '0600' };
    await act('writefile', variables);
    await act('writefile', { ...variables, CONTENTS: 'two', MODE: '0755' });
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'again'), 'utf8')).toBe('two');
      expect((await stat(path.join(root, 'again'))).mode & 0o777).toBe(0o755);
      expect(await readdir(root)).not.toContain('again.kindling-new');
    });
  });

  it('finds the root partition of a whole disk that is named', async () => {
    await using whole = await loopDisk(32 << 20);
    await execa('sfdisk', ['-q', whole.device], { input: 'label: gpt\n,4M\n,\n' });
    await execa('partx', ['-u', whole.device]);
    // the kernel keeps what it was told of partitions, also for the next file behind the same loop device
    await using _ = {
      async [Symbol.asyncDispose]() {
        await execa('partx', ['-d', whole.device]);
      },
    };
    const root = `${whole.device}p2`;
    await execa('mke2fs', ['-q', '-t', 'ext4', '-L', 'rootfs', root]);
    const variables = { DEST_PATH: '/etc/where', CONTENTS: 'disk $DEST_DISK partition $ID' };
    const outcome = await act('writefile', { ...variables, DEST_DISK: whole.device });
    expect(outcome).toMatchObject({ status: 'success' });
    await withMounted(root, async (folder) => {
      expect(await readFile(path.join(folder, 'etc/where'), 'utf8')).toBe(
        `disk ${whole.device} partition p2`,
      );
    });
  });

  it('follows an absolute link inside the target, not out of it', async () => {
    await withMounted(disk.device, async (root) => {
      await mkdir(path.join(root, 'run'));
      await symlink('/run', path.join(root, 'varrun'));
    });
    await act('writefile', { DEST_DISK: disk.device, DEST_PATH: '/varrun/kindling-escape', CONTENTS: 'x' });
    await withMounted(disk.device, async (root) => {
      expect(await readdir(path.join(root, 'run'))).toContain('kindling-escape');
    });
    expect(await readdir('/run')).not.toContain('kindling-escape');
  });

  it('substitutes $DEST_DISK', async () => {
    await act('writefile', { DEST_DISK: disk.device, DEST_PATH: '/where', CONTENTS: 'on $DEST_DISK' });
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'where'), 'utf8')).toBe(`on ${disk.device}`);
    });
  });

  it.each([
    [{ DEST_PATH: 'relative', CONTENTS: 'x' }, 'KND_ACTION_VARIABLES'],
    [{ DEST_PATH: '/x', CONTENTS: 'x', MODE: '0999' }, 'KND_ACTION_VARIABLES'],
    [{ DEST_PATH: '/x', CONTENTS: 'x', DEST_DISK: '/dev/nothing' }, 'KND_DISK_NOT_FOUND'],
    [{ DEST_PATH: '/x', CONTENTS: 'x', FS_TYPE: 'frobfs' }, 'KND_MOUNT_FAILED'],
    [{ DEST_PATH: '/lost+found', CONTENTS: 'x' }, 'KND_PATH_INVALID'],
  ])('%j fails with %s and leaves nothing mounted', async (variables, code) => {
    const outcome = await act('writefile', { DEST_DISK: disk.device, ...variables });
    expect(outcome).toMatchObject({ status: 'failed', error: { code } });
    expect(await mountsOf(disk.device)).toEqual([]);
  });
});

describe('cexec', () => {
  beforeAll(async () => {
    // A whole system in one file: the static busybox.
    await withMounted(disk.device, async (root) => {
      for (const directory of ['bin', 'etc', 'dev', 'proc', 'sys']) {
        await mkdir(path.join(root, directory), { recursive: true });
      }
      await writeFile(path.join(root, 'etc/resolv.conf'), 'nameserver 192.0.2.1\n');
      execFileSync('cp', ['/bin/busybox', path.join(root, 'bin/busybox')]);
      for (const name of ['sh', 'cat', 'sleep', 'touch', 'env']) {
        await symlink('busybox', path.join(root, 'bin', name));
      }
    });
  });

  const shell = { CHROOT: 'y', DEFAULT_INTERPRETER: '/bin/sh -c', FS_TYPE: 'ext4' };

  it('runs a command inside the system, passes other variables on and logs what it prints', async () => {
    const events: ActionEvent[] = [];
    const outcome = await act(
      'cexec',
      {
        ...shell,
        BLOCK_DEVICE: disk.device,
        CMD_LINE: 'echo "proxy $HTTP_PROXY"; echo a > /made',
        HTTP_PROXY: 'http://p',
      },
      { onEvent: (event) => events.push(event) },
    );
    expect(outcome).toMatchObject({ status: 'success' });
    expect(events).toContainEqual({ type: 'log', level: 'info', message: 'proxy http://p' });
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'made'), 'utf8')).toBe('a\n');
    });
  });

  it('fails when the command fails, with what it said', async () => {
    const outcome = await act('cexec', {
      ...shell,
      BLOCK_DEVICE: disk.device,
      CMD_LINE: 'echo oh no >&2; exit 3',
    });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'KND_COMMAND_FAILED' } });
    expect(JSON.stringify(outcome)).toContain('oh no');
  });

  it('lends resolv.conf and gives the system its own back', async () => {
    const outcome = await act('cexec', {
      ...shell,
      BLOCK_DEVICE: disk.device,
      UPDATE_RESOLV_CONF: 'true',
      CMD_LINE: 'cat /etc/resolv.conf > /seen',
    });
    expect(outcome).toMatchObject({ status: 'success' });
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'seen'), 'utf8')).toBe(
        await readFile('/etc/resolv.conf', 'utf8'),
      );
      expect(await readFile(path.join(root, 'etc/resolv.conf'), 'utf8')).toBe('nameserver 192.0.2.1\n');
    });
  });

  it('without an interpreter splits the line as a shell does', async () => {
    const outcome = await act('cexec', {
      CHROOT: 'y',
      BLOCK_DEVICE: disk.device,
      CMD_LINE: '/bin/touch "/with blank"; /bin/touch /second',
    });
    expect(outcome).toMatchObject({ status: 'success' });
    await withMounted(disk.device, async (root) => {
      expect(await readdir(root)).toEqual(expect.arrayContaining(['with blank', 'second']));
    });
  });

  it('a timeout ends the whole tree, daemons too, and leaves no mount', async () => {
    const outcome = await act(
      'cexec',
      { ...shell, BLOCK_DEVICE: disk.device, CMD_LINE: '(sleep 4242 &) ; sleep 4343' },
      { timeoutMs: 2500 },
    );
    expect(outcome).toMatchObject({ status: 'timeout', error: { code: 'KND_ACTION_TIMEOUT' } });
    expect(await pidsOf('sleep 4[23]4[23]')).toEqual([]);
    expect(await mountsOf(disk.device)).toEqual([]);
  });

  it('a cancel is told apart from a timeout', async () => {
    const cancel = new AbortController();
    const running = act(
      'cexec',
      { ...shell, BLOCK_DEVICE: disk.device, CMD_LINE: 'echo started; sleep 4444' },
      { signal: cancel.signal, onEvent: (event) => event.type === 'log' && cancel.abort() },
    );
    expect(await running).toMatchObject({ status: 'cancelled', error: { code: 'KND_ACTION_CANCELLED' } });
    expect(await mountsOf(disk.device)).toEqual([]);
  });

  it('an action that is killed outright is cleaned up after, and the next run works', async () => {
    const running = act('cexec', {
      ...shell,
      BLOCK_DEVICE: disk.device,
      UPDATE_RESOLV_CONF: 'true',
      CMD_LINE: 'sleep 4545',
    });
    await expect.poll(() => pidsOf('^sleep 4545'), { timeout: 30_000 }).toHaveLength(1);
    const { stdout: pid } = await execa('pgrep', ['-P', String(process.pid), '-f', 'action cexec']);
    process.kill(Number(pid), 'SIGKILL');
    expect(await running).toMatchObject({ status: 'failed', error: { code: 'KND_ACTION_DIED' } });
    expect(await mountsOf(disk.device)).toEqual([]);
    expect(await readdir(stateDirectory)).toEqual([]);
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'etc/resolv.conf'), 'utf8')).toBe('nameserver 192.0.2.1\n');
    });
    expect(await act('cexec', { ...shell, BLOCK_DEVICE: disk.device, CMD_LINE: 'true' })).toMatchObject({
      status: 'success',
    });
  });
});

describe('cexec, further', () => {
  const shell = { CHROOT: 'y', DEFAULT_INTERPRETER: '/bin/sh -c', FS_TYPE: 'ext4' };
  const lend = (CMD_LINE: string, context: StartChildOptions = {}) =>
    act('cexec', { ...shell, BLOCK_DEVICE: disk.device, UPDATE_RESOLV_CONF: '1', CMD_LINE }, context);
  const etc = () => withMounted(disk.device, async (root) => (await readdir(path.join(root, 'etc'))).sort());

  it('does not take what a power cut left lent for the system’s own resolv.conf', async () => {
    await withMounted(disk.device, async (root) => {
      await writeFile(path.join(root, 'etc/resolv.conf'), 'lent before the power went');
      await writeFile(path.join(root, 'etc/resolv.conf.kindling-backup'), 'nameserver 192.0.2.1\n');
    });
    expect(await lend('true')).toMatchObject({ status: 'success' });
    await withMounted(disk.device, async (root) => {
      expect(await readFile(path.join(root, 'etc/resolv.conf'), 'utf8')).toBe('nameserver 192.0.2.1\n');
    });
    expect(await etc()).not.toContain('resolv.conf.kindling-backup');
  });

  it('leaves a system that had no resolv.conf without one, also when it is killed', async () => {
    await withMounted(disk.device, (root) => rm(path.join(root, 'etc/resolv.conf')));
    expect(await lend('cat /etc/resolv.conf')).toMatchObject({ status: 'success' });
    expect(await etc()).not.toContain('resolv.conf');
    const running = lend('sleep 4848');
    await expect.poll(() => pidsOf('^sleep 4848'), { timeout: 20_000 }).toHaveLength(1);
    const { stdout: pid } = await execa('pgrep', ['-P', String(process.pid), '-f', 'action cexec']);
    process.kill(Number(pid), 'SIGKILL');
    expect(await running).toMatchObject({ status: 'failed', error: { code: 'KND_ACTION_DIED' } });
    expect(await etc()).not.toContain('resolv.conf');
  });

  it('ends with its command, whatever that left in the background', async () => {
    const outcome = await lend('sleep 4949 & echo done');
    expect(outcome).toMatchObject({ status: 'success' });
    expect(await pidsOf('^sleep 4949')).toEqual([]);
    expect(await mountsOf(disk.device)).toEqual([]);
  });

  it('reports a misspelled variable, and hands no password of the agent on', async () => {
    const lines: string[] = [];
    const outcome = await act(
      'cexec',
      { ...shell, BLOCK_DEVICE: disk.device, CMD_LINE: 'env', CHROOOT: 'y', HTTP_PROXY: 'http://p' },
      {
        processEnvironment: { REGISTRY_PASSWORD: 'hunter2' },
        onEvent: (event) => event.type === 'log' && lines.push(event.message),
      },
    );
    expect(outcome).toMatchObject({ status: 'success' });
    expect(lines).toContain('cexec passes CHROOOT on to the command; did you mean CHROOT?');
    expect(lines).toContain('HTTP_PROXY=http://p');
    expect(lines.join()).not.toContain('hunter2');
  });

  it.each([
    [{ CMD_LINE: ' ' }, 'KND_ACTION_VARIABLES'],
    [{ CMD_LINE: 'echo "open' }, 'KND_COMMAND_LINE'],
    [{ CMD_LINE: 'true', UPDATE_RESOLV_CONF: 'perhaps' }, 'KND_ACTION_VARIABLES'],
    [{ CMD_LINE: 'true', JSON_OUTPUT: 'x' }, 'KND_ACTION_VARIABLES'],
    [{ CMD_LINE: 'true', JSON_OUTOUT: 'x' }, 'KND_ACTION_VARIABLES'],
    [{ CMD_LINE: 'true', BLOCK_DEVICE: 'sda1' }, 'KND_ACTION_VARIABLES'],
    [{ CMD_LINE: 'true', BLOCK_DEVICE: '/dev/nothing' }, 'KND_DISK_NOT_FOUND'],
    [{ CMD_LINE: 'true', FS_TYPE: 'frobfs' }, 'KND_MOUNT_FAILED'],
    [{ CMD_LINE: 'true', DEFAULT_INTERPRETER: '/bin/nothing -c', CHROOT: 'y' }, 'KND_COMMAND_FAILED'],
  ])('%j fails with %s and leaves nothing mounted', async (variables, code) => {
    const outcome = await act('cexec', { BLOCK_DEVICE: disk.device, ...variables });
    expect(outcome).toMatchObject({ status: 'failed', error: { code } });
    expect(await mountsOf(disk.device)).toEqual([]);
  });
});

describe('an agent that is killed', () => {
  it('leaves its action running; the next one ends and undoes it before it starts its own', async () => {
    const variables = { BLOCK_DEVICE: disk.device, FS_TYPE: 'ext4', CMD_LINE: '/bin/sleep 4646' };
    const agent = execa(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { startChild } from ${JSON.stringify(path.resolve('actions/process/start-child.ts'))};
         await startChild('cexec', ${JSON.stringify(variables)}, { stateDirectory: ${JSON.stringify(stateDirectory)} });`,
      ],
      { reject: false },
    );
    await expect.poll(() => pidsOf('^/bin/sleep 4646'), { timeout: 30_000 }).toHaveLength(1);
    agent.kill('SIGKILL');
    await agent;
    expect(await mountsOf(disk.device)).toHaveLength(1);
    expect(await pidsOf('^/bin/sleep 4646')).toHaveLength(1);
    const next = await act('writefile', { DEST_DISK: disk.device, DEST_PATH: '/next', CONTENTS: 'x' });
    expect(next).toMatchObject({ status: 'success' });
    expect(await pidsOf('sleep 4646')).toEqual([]);
    expect(await mountsOf(disk.device)).toEqual([]);
    expect(await readdir(stateDirectory)).toEqual([]);
  });
});

it('reboot only asks for it: the agent reboots when the server knows', async () => {
  expect(await act('reboot-action', {})).toMatchObject({ status: 'success', handOver: { kind: 'reboot' } });
  expect(await act('reboot-action', { AFTER: 'poweroff' })).toMatchObject({ handOver: { kind: 'poweroff' } });
});

it('waitdaemon is the action that its IMAGE names', async () => {
  const variables = { IMAGE: 'ghcr.io/someone/reboot:v1', WAIT_SECONDS: '10' };
  expect(await act('ghcr.io/jacobweinstock/waitdaemon:0.2.1', variables)).toMatchObject({
    status: 'success',
    handOver: { kind: 'reboot' },
  });
});
