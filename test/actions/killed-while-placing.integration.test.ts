import { access, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENABLE_LINK } from '../../actions/first-boot-report/report-files.ts';
import { startChild } from '../../actions/process/start-child.ts';
import { ext4Disk, withMounted } from './loop-disk.ts';

/** Long enough that its way to the disk can be interrupted. */
const PADDING = `# ${'x'.repeat(400_000)}\n`;
const OLD = 'what an earlier installation left\n';

/** For a single file the only moment is that of its own way to the disk. */
const LONG = 'x'.repeat(4_000_000);

interface PlacingAction {
  variables: Record<string, string>;
  files: string[];
  /** Those that are gone while the new ones come, so that nobody takes some of these and some of those. */
  goFirst?: string[];
  killedAt: string[];
}

const SEED_FILES = ['network-config', 'user-data', 'meta-data'].map(
  (name) => `var/lib/cloud/seed/nocloud/${name}`,
);

const ACTIONS: Record<string, PlacingAction> = {
  writefile: {
    variables: {
      DEST_PATH: '/etc/kindling.conf',
      CONTENTS: LONG,
      UID: '0',
      GID: '0',
      MODE: '0640',
      DIRMODE: '0755',
    },
    files: ['etc/kindling.conf'],
    killedAt: ['etc/kindling.conf'],
  },
  'cloud-init': {
    variables: {
      USER_DATA: `#cloud-config\n${PADDING}hostname: a\n`,
      NETWORK_CONFIG: 'version: 2\nethernets: {}\n',
    },
    files: ['etc/cloud/cloud.cfg.d/99-kindling.cfg', 'etc/cloud/ds-identify.cfg', ...SEED_FILES],
    goFirst: SEED_FILES,
    killedAt: ['etc/cloud/cloud.cfg.d/99-kindling.cfg', 'etc/cloud/ds-identify.cfg', ...SEED_FILES],
  },
  'first-boot-report': {
    variables: { FIRST_BOOT_URL: 'https://site.example/key', TLS_CA_CERT: `-----BEGIN\n${PADDING}` },
    files: [
      'etc/systemd/system/kindling-first-boot-report.service',
      'usr/local/lib/kindling/first-boot-report',
      'usr/local/lib/kindling/first-boot-report.pem',
    ],
    killedAt: [
      'etc/systemd/system/kindling-first-boot-report.service',
      'usr/local/lib/kindling/first-boot-report',
    ],
  },
};

let stateDirectory: string;
beforeAll(async () => {
  stateDirectory = await mkdtemp(path.join(tmpdir(), 'kindling-state-'));
});
afterAll(() => rm(stateDirectory, { recursive: true }));

const textOf = (file: string) => readFile(file, 'utf8').catch(() => undefined);
const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

describe.each(Object.entries(ACTIONS))(
  '%s',
  (action, { variables, files, goFirst = [], killedAt: moments }) => {
    const act = (device: string) =>
      startChild(action, { ...variables, DEST_DISK: device }, { stateDirectory });
    const contentsOf = (device: string) =>
      withMounted(device, (root) => Promise.all(files.map((file) => textOf(path.join(root, file)))));

    it('killed while it places its files, leaves each file old or new and nothing switched on too early; a second run finishes', async () => {
      await using target = await ext4Disk();
      expect(await act(target.device)).toMatchObject({ status: 'success' });
      const wanted = await contentsOf(target.device);

      for (const file of moments) {
        await killedAt(file, target.device);
        expect(await readFile('/proc/mounts', 'utf8')).not.toContain(`${target.device} `);
        const after = await contentsOf(target.device);
        for (const [index, text] of after.entries()) {
          const states = goFirst.includes(files[index] ?? '')
            ? [undefined, wanted[index]]
            : [OLD, wanted[index]];
          expect(states).toContain(text);
        }
        if (after.includes(OLD)) expect(await isEnabled(target.device)).toBe(false);
      }

      for (const _ of ['second run', 'again']) {
        expect(await act(target.device)).toMatchObject({ status: 'success' });
        expect(await contentsOf(target.device)).toEqual(wanted);
      }
      expect(await isEnabled(target.device)).toBe(action === 'first-boot-report');
      await withMounted(target.device, async (root) => {
        const names = await readdir(root, { recursive: true });
        expect(names.filter((name) => name.endsWith('.kindling-new'))).toEqual([]);
      });
    });

    const isEnabled = (device: string) =>
      withMounted(device, (root) =>
        readlink(path.join(root, ENABLE_LINK.path)).then(
          (target) => target === ENABLE_LINK.target,
          () => false,
        ),
      );

    /** A busy machine may notice the moment too late, when the action is through: then once more. */
    async function killedAt(file: string, device: string): Promise<void> {
      for (let tries = 1; ; tries++) {
        await withMounted(device, async (root) => {
          await rm(path.join(root, ENABLE_LINK.path), { force: true });
          await rm(path.join(root, `${file}.kindling-new`), { force: true }); // of the kill before
          for (const each of files) {
            await mkdir(path.dirname(path.join(root, each)), { recursive: true });
            await writeFile(path.join(root, each), OLD);
          }
        });
        const outcome = await killWhileItWrites(file, device);
        if (outcome.status === 'success' && tries < 5) continue;
        expect(outcome).toMatchObject({ status: 'failed', error: { code: 'KND_ACTION_DIED' } });
        return;
      }
    }

    /** The file system is mounted here too, so that the very moment can be seen. */
    async function killWhileItWrites(file: string, device: string) {
      return withMounted(device, async (root) => {
        const running = act(device);
        let pid: number | undefined;
        while (pid === undefined) pid = await childOf(action);
        let isOver = false;
        void running.finally(() => {
          isOver = true;
        });
        while (!isOver && !(await isThere(path.join(root, `${file}.kindling-new`)))) await nextTurn();
        if (!isOver) process.kill(pid, 'SIGKILL');
        return running;
      });
    }
  },
);

async function childOf(action: string): Promise<number | undefined> {
  const args = ['-P', String(process.pid), '-f', `action ${action}`];
  const { stdout } = await execa('pgrep', args, { reject: false });
  return stdout === '' ? undefined : Number(stdout.split('\n')[0]);
}
