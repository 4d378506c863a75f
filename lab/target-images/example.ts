import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describeError, KindlingError, toKindlingError } from '../../protocol/error.ts';
import { EXAMPLE_CONFIG } from '../../standalone/example.ts';
import { ensureMutableTarget } from './mutable.ts';

/** `kindling standalone example FOLDER`: a small Debian with cloud-init, and the config file of the tutorial beside it. */
async function main([folder]: string[]): Promise<void> {
  if (folder === undefined) throw new KindlingError('KND_USAGE', 'say which folder to write to');
  const target = resolve(folder);
  await mkdir(target, { recursive: true });
  const config = join(target, 'node.yaml');
  await writeFile(config, EXAMPLE_CONFIG, { flag: 'wx' }).catch((cause: unknown) => {
    throw new KindlingError('KND_USAGE', `${config} is there already, or cannot be written`, { cause });
  });
  const image = await ensureMutableTarget();
  await copyFile(image.zst, join(target, 'debian.raw.zst'));
  await copyFile(image.manifest, join(target, 'debian.raw.zst.manifest'));
  console.log(`${target}: node.yaml, debian.raw.zst (a small Debian with cloud-init) and its manifest`);
}

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  console.error(describeError(thrown));
  process.exitCode = toKindlingError(thrown).exitCode;
}
