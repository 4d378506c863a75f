import { resolve } from 'node:path';
import type { Command } from 'commander';
import { KindlingError } from '../protocol/error.ts';
import { defaultStateFolder } from '../site/state-folder.ts';

/** `kindling build ipxe`: iPXE from a source tree, with the site's CA and script inside and image trust on. */
export function defineBuildIpxe(ipxe: Command): void {
  ipxe
    .description(
      'iPXE from its source, with the site’s CA and script inside, which runs only what the site signed',
    )
    .option('--source <folder>', 'checkout of iPXE (needed: Kindling does not carry it)')
    .option('--state <folder>', 'folder of the orchestrator, for the site’s CA', defaultStateFolder())
    .option('--url <url>', 'address of the site’s boot files, as given to kindling build site')
    .option('-o, --output <folder>', 'where to put the programs', 'build/ipxe')
    .action(build);
}

async function build(options: {
  source?: string;
  state: string;
  url?: string;
  output: string;
}): Promise<void> {
  const [{ buildIpxe }, { openSiteKeys }, { keptRequest }] = await Promise.all([
    import('../ipxe/build-ipxe.ts'),
    import('../site/site-keys.ts'),
    import('../site/kept-request.ts'),
  ]);
  if (options.source === undefined)
    throw new KindlingError('KND_IPXE_SOURCE', 'kindling build ipxe needs --source: an iPXE source tree');
  const url = options.url ?? keptRequest(options.state)?.stackUrl;
  if (url === undefined)
    throw new KindlingError('KND_USAGE', 'kindling build ipxe needs --url, or a site that was built before');
  const { ca } = await openSiteKeys(options.state);
  await buildIpxe({
    source: options.source,
    ca,
    bootUrl: `${url.replace(/\/$/, '')}/boot.ipxe`,
    output: options.output,
  });
  console.log(`${resolve(options.output)}: for kindling build site --ipxe ${options.output}, which signs it`);
}
