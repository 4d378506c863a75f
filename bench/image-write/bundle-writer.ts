import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '../..');
const WORKERS = [
  'actions/image-writer/stream/stream.worker.ts',
  'actions/image-writer/chunks/chunk.worker.ts',
];

/**
 * Bundles the writer the way the agent's executable holds it (one file each for the program and its workers): loading
 * sixty sources one by one would be counted as writing an image. Answers the command that starts it.
 */
export async function bundleWriter(folder: string): Promise<string> {
  const shared = {
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    logLevel: 'silent',
  } as const;
  // the same depth as in the repository, so that the program finds its workers
  const program = join(folder, 'bench/image-write/writer-program.mjs');
  await build({
    ...shared,
    entryPoints: [join(ROOT, 'bench/image-write/writer-program.ts')],
    outfile: program,
  });
  for (const worker of WORKERS) {
    await build({
      ...shared,
      entryPoints: [join(ROOT, worker)],
      outfile: join(folder, worker),
      allowOverwrite: true,
    });
  }
  return `${process.execPath} ${program}`;
}
