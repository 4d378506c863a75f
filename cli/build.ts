import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import {
  ensureAgent,
  ensureMicroOs,
  explainMicroOs,
  PROFILES,
  type Profile,
  packDropin,
} from '../initrd/index.ts';
import { defineBuildIpxe } from './build-ipxe.ts';
import { defineBuildSite } from './build-site.ts';

/** `kindling build …`: makes the agent executable, the Micro-OS, what goes beside it, and a site's boot files. */
export function defineBuild(build: Command): void {
  build
    .command('agent')
    .description('the agent as one static file')
    .option('-o, --output <file>', 'where to put it', 'build/kindling-agent')
    .action(async ({ output }: { output: string }) => {
      await copyTo(await ensureAgent(), output);
      console.log(resolve(output));
    });

  build
    .command('microos')
    .description('kernel, initramfs and unified kernel image')
    .addOption(new Option('--profile <profile>', 'how much is in it').choices(PROFILES).default('minimal'))
    .option('-o, --output <folder>', 'where to put it (default: build/microos-<profile>)')
    .option('--quick', 'compress less: for work on the code', false)
    .option('--explain', 'list every file with its Debian package and its share of the size', false)
    .action(buildMicroOs);

  defineBuildSite(build.command('site'));
  defineBuildIpxe(build.command('ipxe'));

  build
    .command('dropin <folder>')
    .description('a folder of firmware or site files as an archive to load after the initramfs')
    .requiredOption('-o, --output <file>', 'where to put it, such as extra.cpio')
    .action(async (folder: string, { output }: { output: string }) => {
      await mkdir(dirname(resolve(output)), { recursive: true });
      await writeFile(output, await packDropin(folder));
      console.log(resolve(output));
    });
}

async function buildMicroOs(options: {
  profile: Profile;
  output?: string;
  quick: boolean;
  explain: boolean;
}) {
  const { folder } = await ensureMicroOs(options.profile, options.quick ? 'quick' : 'small');
  const output = options.output ?? `build/microos-${options.profile}`;
  for (const name of ['vmlinuz-x86_64', 'initramfs-x86_64', 'kindling-x86_64.efi', 'SHA256SUMS'])
    await copyTo(join(folder, name), join(output, name));
  if (options.explain) process.stdout.write(await explainMicroOs(folder));
  console.log(resolve(output));
}

async function copyTo(source: string, target: string): Promise<void> {
  await mkdir(dirname(resolve(target)), { recursive: true });
  await copyFile(source, target);
}
