import { join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import type { WriteImageRequest } from '../../actions/image-writer/index.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = 'bench/image-write/writer-program.ts';
const WORKERS = [
  'actions/image-writer/stream/stream.worker.ts',
  'actions/image-writer/decoders/bz2/block.worker.ts',
  'actions/image-writer/decoders/xz/chunk.worker.ts',
  'actions/image-writer/chunks/chunk.worker.ts',
];

/** In the executable a worker is JavaScript already; under its name in the sources Node would strip types from it first. */
const readyWorkers = (folder: string): Plugin => ({
  name: 'ready-workers',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/system\/worker\.ts$/ }, () => ({
      contents: `import { Worker } from 'node:worker_threads';
export const startWorker = (path, options) => new Worker(\`${folder}/\${path}.cjs\`, options);`,
    }));
  },
});

/** The shell command that carries out a request. */
export type Writer = (request: WriteImageRequest) => string;

/**
 * Bundles the writer the way the agent's executable holds it (one file each for the program and its workers): loading
 * sixty sources one by one would be counted as writing an image.
 */
export async function bundleWriter(folder: string): Promise<Writer> {
  const shared: BuildOptions = {
    bundle: true,
    platform: 'node',
    target: 'node26',
    logLevel: 'silent',
    minify: true,
    format: 'cjs',
    plugins: [readyWorkers(folder)],
  };
  for (const entry of [PROGRAM, ...WORKERS]) {
    await build({ ...shared, entryPoints: [join(ROOT, entry)], outfile: join(folder, `${entry}.cjs`) });
  }
  const program = join(folder, `${PROGRAM}.cjs`);
  return (request) => `${process.execPath} ${program} '${JSON.stringify(request)}'`;
}
