import { type Bundle, bundleProgram, findSources, readBuildStamp } from '../initrd/executable/bundle.ts';
import { ensureExecutable } from '../initrd/executable/executable.ts';
import { LOADER_CODE, loaderCode } from '../initrd/micro-os/site-loader.ts';

/** Folders of what `kindling` runs: their workers and scripts go along. */
const FOLDERS = '{cli,orchestrator-stub,netboot,site,images,standalone,ipxe,net,formats,system}';
const FILES = [
  `${FOLDERS}/**/*.sh`,
  'console/generated/*.*',
  'ipxe/scripts/*',
  'orchestrator-stub/workflow/templates/*',
];

/** The program `kindling` as one static file, with its page, its templates and the compiled loader of a site. */
export async function ensureKindling(): Promise<string> {
  return ensureExecutable('kindling', await bundleKindling());
}

async function bundleKindling(): Promise<Bundle> {
  const bundle = await bundleProgram({
    main: 'cli/main.ts',
    workers: findSources(`${FOLDERS}/**/*.worker.ts`),
    files: FILES.flatMap(findSources),
    stamp: await readBuildStamp([]),
  });
  return bundle.set(LOADER_CODE, (await loaderCode()).toString('latin1'));
}
