import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findRuntime } from '../../../actions/foreign/find-runtime.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindling-runtimes-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A folder of programs; the way there, as it stands in PATH. */
async function programs(name: string, files: Record<string, number>): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  for (const [file, mode] of Object.entries(files)) await writeFile(join(path, file), '', { mode });
  return path;
}

describe('the container runtime of a machine', () => {
  it('is crun, also where Docker has put its runc earlier in the path', async () => {
    const docker = await programs('docker', { runc: 0o755 });
    const debian = await programs('debian', { crun: 0o755, runc: 0o755 });
    expect(await findRuntime(`${docker}:${debian}`)).toBe(join(debian, 'crun'));
  });

  it('is runc where there is nothing else', async () => {
    const docker = await programs('docker', { runc: 0o755 });
    expect(await findRuntime(`/nowhere:${docker}`)).toBe(join(docker, 'runc'));
  });

  it('is no file that cannot be executed', async () => {
    const notes = await programs('notes', { crun: 0o644 });
    expect(await findRuntime(notes)).toBeUndefined();
  });
});
