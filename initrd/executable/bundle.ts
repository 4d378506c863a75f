import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BuildOptions } from 'esbuild';
import { KindlingError } from '../../protocol/error.ts';
import type { BuildStamp } from '../../system/build-stamp.ts';
import { run } from '../../system/run.ts';

/** What goes into an executable, by name: the main script, and workers and files under their paths in the repository. */
export type Bundle = Map<string, string>;

/** What a bundle is made of: paths in the repository. */
export interface ProgramSources {
  main: string;
  /** Files that its code starts as worker threads (system/worker.ts). */
  workers: readonly string[];
  /** Files that its code reads as they are (system/own-file.ts). */
  files: readonly string[];
  stamp: BuildStamp;
}

/** The name under which sea-main.ts finds the script to start. */
export const MAIN_SCRIPT = 'main.cjs';

const ROOT = join(import.meta.dirname, '../..');
const AGENT_FOLDERS = ['agent', 'actions', 'net', 'formats', 'system', 'protocol'];
/** Packages that only a program in the repository, or with an add-on of its own beside it, can load. */
const NOT_INSIDE = ['esbuild', 'pg-native'];

export async function bundleAgent(): Promise<Bundle> {
  return bundleProgram({
    main: 'agent/main.ts',
    workers: findSources('{agent,actions}/**/*.worker.ts'),
    files: findSources('{agent,actions,system}/**/*.sh'),
    // the last commit that touched what the agent is made of: other commits leave it as it is
    stamp: await readBuildStamp([...AGENT_FOLDERS, 'package-lock.json']),
  });
}

export function findSources(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).sort();
}

/** A program, its worker threads and its files. */
export async function bundleProgram({ main, workers, files, stamp }: ProgramSources): Promise<Bundle> {
  const options = sharedOptions(stamp);
  const bundle: Bundle = new Map([[MAIN_SCRIPT, await bundleFile(main, options)]]);
  for (const worker of workers) bundle.set(worker, await bundleFile(worker, options));
  for (const file of files) bundle.set(file, readFileSync(join(ROOT, file), 'latin1'));
  return bundle;
}

/** Version, and the last commit that touched these paths (none named: the last commit). */
export async function readBuildStamp(paths: readonly string[]): Promise<BuildStamp> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  // no git, or no repository: an unpacked archive of the sources
  const git = await run('git', ['log', '-1', '--format=%h %ct', '--abbrev=9', '--', ...paths], {
    cwd: ROOT,
  }).catch(() => undefined);
  const [commit = 'unknown', time = '0'] = git?.stdout.trim().split(' ') ?? [];
  return { version, commit, time: Number(time) };
}

async function bundleFile(entry: string, options: BuildOptions): Promise<string> {
  const { build } = await import('esbuild');
  try {
    const { outputFiles } = await build({ ...options, entryPoints: [entry], write: false });
    return (outputFiles?.[0]?.text ?? '').replace(/^#!.*\n/, ''); // sea-main.ts starts it, not a shell
  } catch (cause) {
    throw new KindlingError('KND_BUILD_FAILED', `${entry} could not be bundled`, { cause });
  }
}

function sharedOptions(stamp: BuildStamp): BuildOptions {
  return {
    absWorkingDir: ROOT,
    preserveSymlinks: true, // paths are part of the text: the same bytes where node_modules is a link, as in a second work tree
    bundle: true,
    platform: 'node',
    target: 'node26',
    external: NOT_INSIDE,
    // CommonJS, because only a script can be given its compiled code back (sea-main.ts): start-up is a third faster.
    format: 'cjs',
    supported: { 'dynamic-import': false },
    // Names stay, so that a stack trace from the field can be read; they cost next to nothing once compressed.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'silent',
    define: {
      KINDLING_BUILD: JSON.stringify(stamp),
      'import.meta.url': '"file:///kindling"',
      'import.meta.dirname': '"/"',
    },
  };
}
