import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { KindlingError } from '../../protocol/error.ts';
import { run } from '../../system/run.ts';

/** The agent's JavaScript as it goes into the executable, by name: `agent.cjs`, every worker and shell script under its path in the repository. */
export type Bundle = Map<string, string>;

const ROOT = join(import.meta.dirname, '../..');
const MAIN = 'agent/main.ts';
/** Files that agent code starts as worker threads (system/worker.ts) are found by their name. */
const WORKERS = '{agent,actions}/**/*.worker.ts';
/** And shell scripts that agent code writes into installed systems (system/shell-script.ts). */
const SCRIPTS = '{agent,actions,system}/**/*.sh';

export function bundleAgent(): Promise<Bundle> {
  const found = (pattern: string) => globSync(pattern, { cwd: ROOT }).sort();
  return bundleProgram(MAIN, found(WORKERS), found(SCRIPTS));
}

/** A program, its worker threads and its shell scripts, by their paths in the repository. */
export async function bundleProgram(
  main: string,
  workers: readonly string[],
  scripts: readonly string[],
): Promise<Bundle> {
  const options = await sharedOptions();
  const bundle: Bundle = new Map([['agent.cjs', await bundleFile(main, options)]]);
  for (const worker of workers) bundle.set(worker, await bundleFile(worker, options));
  for (const script of scripts) bundle.set(script, readFileSync(join(ROOT, script), 'latin1'));
  return bundle;
}

async function bundleFile(entry: string, options: BuildOptions): Promise<string> {
  try {
    const { outputFiles } = await build({ ...options, entryPoints: [entry], write: false });
    return outputFiles?.[0]?.text ?? '';
  } catch (cause) {
    throw new KindlingError('KND_BUILD_FAILED', `${entry} could not be bundled`, { cause });
  }
}

async function sharedOptions(): Promise<BuildOptions> {
  return {
    absWorkingDir: ROOT,
    preserveSymlinks: true, // paths are part of the text: the same bytes where node_modules is a link, as in a second work tree
    bundle: true,
    platform: 'node',
    target: 'node26',
    // CommonJS, because only a script can be given its compiled code back (sea-main.ts): start-up is a third faster.
    format: 'cjs',
    supported: { 'dynamic-import': false },
    // Names stay, so that a stack trace from the field can be read; they cost next to nothing once compressed.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'silent',
    define: {
      KINDLING_BUILD: JSON.stringify(await describeBuild()),
      'import.meta.url': '"file:///kindling-agent"',
      'import.meta.dirname': '"/"',
    },
  };
}

/** What `kindling-agent --version` says. The commit is the last one that touched what the agent is made of. */
async function describeBuild() {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const sources = ['agent', 'actions', 'net', 'formats', 'system', 'protocol', 'package-lock.json'];
  // no git, or no repository: an unpacked archive of the sources
  const git = await run('git', ['log', '-1', '--format=%h %ct', '--abbrev=9', '--', ...sources], {
    cwd: ROOT,
  }).catch(() => undefined);
  const [commit = 'unknown', time = '0'] = git?.stdout.trim().split(' ') ?? [];
  return { version, commit, time: Number(time) };
}
