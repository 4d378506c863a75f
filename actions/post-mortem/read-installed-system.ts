import { open } from 'node:fs/promises';
import { describeError } from '../../protocol/error.ts';
import type { ActionContext } from '../contract/action.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { findTargetFilesystem } from '../target-root/target-filesystem.ts';

/** Enough for the end of any log, little enough for the node's memory and the orchestrator's database. */
const TAIL_BYTES = 64 * 1024;

const FILES = {
  cloudInitLog: '/var/log/cloud-init.log',
  firstBootLog: '/var/log/kindling/first-boot.log',
} as const;

export type InstalledLogs = Partial<Record<keyof typeof FILES | 'rootProblem', string>>;

/** The ends of the logs of the installed system, read without changing a byte of its disk. */
export async function readInstalledLogs(
  context: ActionContext,
  place: { device: string | undefined; selector: string | undefined },
): Promise<InstalledLogs> {
  try {
    const target = await findTargetFilesystem(context, place.device, place.selector);
    const mounted = await mountFilesystem(context, target.device, {
      fsType: target.fsType,
      isReadOnly: true,
      isUnrecovered: true,
    });
    const logs: InstalledLogs = {};
    for (const [name, file] of Object.entries(FILES)) {
      const text = await readTail(await pathInRoot(mounted.target, file)).catch(() => undefined);
      if (text !== undefined) logs[name as keyof typeof FILES] = text;
    }
    await mounted.unmount();
    return logs;
  } catch (thrown) {
    return { rootProblem: describeError(thrown).split('\n')[0] ?? '' };
  }
}

async function readTail(file: string): Promise<string> {
  await using handle = await open(file, 'r');
  const { size } = await handle.stat();
  const start = Math.max(0, size - TAIL_BYTES);
  const bytes = Buffer.alloc(size - start);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return bytes.toString('utf8', 0, bytesRead);
}
