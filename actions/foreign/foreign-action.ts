import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { KindlingError } from '../../protocol/error.ts';
import { lastPathComponent } from '../catalog.ts';
import type { Action, ActionContext, ActionResult } from '../contract/action.ts';
import { lineLogger } from '../contract/line-logger.ts';
import { parseImageReference } from '../registry/image-reference.ts';
import { Registry } from '../registry/registry.ts';
import { basesFor, mayLogIn, readRegistrySettings } from '../registry/registry-settings.ts';
import type { LedgerEntry } from '../resources/ledger.ts';
import { runtimeCommand } from '../resources/runtime-command.ts';
import { pathInRoot } from '../target-root/path-in-root.ts';
import { decompressed } from '../unpack/decompress.ts';
import { unpackTar } from '../unpack/unpack-tar.ts';
import { findRuntime } from './find-runtime.ts';
import { imageUser } from './image-user.ts';
import {
  type ContainerRequest,
  capabilitiesWithin,
  type ImageConfig,
  runtimeSpec,
  workflowFolder,
} from './runtime-spec.ts';

/** A container that wants a reboot makes this file (tink-worker's watcher looks for it every second). */
const REBOOT_FILE = '/worker/reboot';

/** An image that is no action of ours, as an action: pulled, unpacked, run in a container, removed. */
export function foreignAction(image: string, container: ContainerRequest): Action {
  return {
    name: image,
    aliases: [],
    summary: 'Runs a container image',
    parameters: {},
    destroysData: true,
    mayRunAgain: false,
    passesVariablesOn: true,
    run: (_, context) => runForeign(image, container, context),
  };
}

async function runForeign(
  image: string,
  container: ContainerRequest,
  context: ActionContext,
): Promise<ActionResult> {
  const runtime = await findRuntime(process.env['PATH'] ?? '');
  if (runtime === undefined) throw noRuntime(image);
  if (context.isDryRun) return { summary: `would pull and run ${image} with ${runtime}` };

  // 1. Pull and unpack.
  const bundle = path.join(tmpdir(), `kindling-container-${randomUUID()}`);
  const held: LedgerEntry = { kind: 'folder', path: bundle };
  await context.resources.take(
    held,
    () => mkdir(bundle, { mode: 0o700 }),
    () => rm(bundle, { recursive: true, force: true }),
  );
  try {
    const config = await pull(image, path.join(bundle, 'rootfs'), context);

    // 2. The container, as the dialect prescribes.
    for (const folder of [
      '/worker',
      container.workflowId === undefined ? '/worker' : workflowFolder(container.workflowId),
      ...sourcesOf(container),
    ]) {
      await mkdir(folder, { recursive: true });
    }
    await rm(REBOOT_FILE, { force: true });
    const inImage = async (file: string) =>
      readFile(await pathInRoot(path.join(bundle, 'rootfs'), file), 'utf8').catch(() => '');
    const spec = runtimeSpec({
      image: config,
      user: imageUser(config.config?.User ?? '', await inImage('/etc/passwd'), await inImage('/etc/group')),
      command: context.args,
      environment: context.environment,
      container,
      hostname: hostname(),
      capabilities: await ownCapabilities(),
      exists: existsSync,
    });
    await writeFile(path.join(bundle, 'config.json'), JSON.stringify(spec));

    // 3. Run it to its end.
    await runContainer(runtime, bundle, image, context);
  } finally {
    await context.resources.release(held);
  }
  const wantsReboot = existsSync(REBOOT_FILE);
  await rm(REBOOT_FILE, { force: true });
  return { summary: `${image} ended well`, ...(wantsReboot ? { handOver: { kind: 'reboot' } } : {}) };
}

async function pull(image: string, root: string, context: ActionContext): Promise<ImageConfig> {
  const settings = readRegistrySettings();
  const reference = parseImageReference(image, settings.defaultRegistry);
  const registry = new Registry(reference, {
    username: settings.username,
    password: settings.password,
    bases: basesFor(reference.registry, settings),
    mayLogIn: (base) => mayLogIn(base, reference.registry, settings),
    network: { proxies: settings.proxies },
    signal: context.signal,
  });
  const manifest = await registry.manifest();
  await mkdir(root);
  for (const [index, layer] of manifest.layers.entries()) {
    context.emit({
      type: 'progress',
      stage: `pulling ${image}: layer ${index + 1} of ${manifest.layers.length}`,
      percent: (index / manifest.layers.length) * 90,
    });
    const blob = await registry.openBlob(layer);
    await unpackTar(await decompressed(blob), root, {
      run: context.run,
      signal: context.signal,
      hasWhiteouts: true,
    });
  }
  return JSON.parse((await registry.blob(manifest.config)).toString()) as ImageConfig;
}

async function runContainer(
  runtime: string,
  bundle: string,
  image: string,
  context: ActionContext,
): Promise<void> {
  const id = `kindling-${randomBytes(6).toString('hex')}`;
  const entry = { kind: 'container', id, runtime } as const;
  const logger = lineLogger(context);
  const noPivot = (await isRootInitramfs()) ? ['--no-pivot'] : [];
  // Held before it runs: a container whose runtime was killed goes on by itself until it is deleted.
  await context.resources.take(
    entry,
    async () => {},
    async () => {
      await context.run(...runtimeCommand(runtime, ['delete', '--force', id]), {
        okExitCodes: [0, 1],
        signal: new AbortController().signal,
      });
    },
  );
  const { exitCode } = await context
    .run(...runtimeCommand(runtime, ['run', ...noPivot, '--bundle', bundle, id]), {
      onOutput: logger.onOutput,
      okExitCodes: Array.from({ length: 256 }, (_, code) => code),
    })
    .finally(async () => {
      logger.end();
      await context.resources.release(entry);
    });
  if (exitCode !== 0) {
    throw new KindlingError('KND_CONTAINER_FAILED', `${image} ended with exit code ${exitCode}`, {
      evidence: { exitCode },
    });
  }
}

/** The root of the Micro-OS is the kernel's own first one, which pivot_root(2) refuses to leave; the runtimes can move it instead. */
async function isRootInitramfs(): Promise<boolean> {
  const roots = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  const type = roots.filter(([, target]) => target === '/').at(-1)?.[2];
  return type === 'rootfs' || type === 'ramfs';
}

/** Sources of volumes that do not exist are made, as both reference runtimes do. */
function sourcesOf({ volumes = [] }: ContainerRequest): string[] {
  return volumes
    .map((volume) => volume.split(':')[0] ?? '')
    .filter((source) => source.startsWith('/') && !existsSync(source));
}

async function ownCapabilities(): Promise<string[]> {
  const status = await readFile('/proc/self/status', 'utf8');
  return capabilitiesWithin(BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`));
}

function noRuntime(image: string): KindlingError {
  return new KindlingError(
    'KND_ACTION_UNKNOWN',
    `${image} is no action of Kindling, and this Micro-OS has no container runtime to run it as an image`,
    { hint: `${hintFor(image)} or boot the full Micro-OS, which has crun.` },
  );
}

/** Images of Tinkerbell's first examples, which every site built for itself, and the action that does by variables what they do. */
const INSTEAD: Record<string, string> = {
  'disk-partition': 'rootio with the command “partition”, then “format”',
  'install-root-fs': 'archive2disk',
  'install-grub': 'grub2disk',
};

function hintFor(image: string): string {
  const instead = INSTEAD[lastPathComponent(image)];
  return instead === undefined ? 'Check the spelling,' : `Use ${instead},`;
}
