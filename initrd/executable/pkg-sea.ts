import { createRequire } from 'node:module';

// node pkg-sea.ts <options as JSON>: one call of pkg, in a process of its own because pkg changes the working directory.
// pkg's command line can only fetch Node from nodejs.org; its function also takes a Node that is already there.

interface PkgSeaOptions {
  nodePath: string;
  seaConfig: { assets: Record<string, string>; execArgv: string[] };
  targets: { nodeRange: string; platform: string; arch: string; output: string }[];
}
type PkgSea = (entry: string, options: PkgSeaOptions) => Promise<void>;

const { main, ...options } = JSON.parse(process.argv[2] ?? '{}') as PkgSeaOptions & { main: string };
const pkg = createRequire(import.meta.url)('@yao-pkg/pkg/lib-es5/sea') as { default: PkgSea };
await pkg.default(main, options);
