import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import type { Disk, Inventory } from '../../protocol/inventory.ts';
import { chooseMachine } from './choose-machine.ts';
import { configureDisk } from './configure-disk.ts';
import { confirm } from './confirm.ts';
import { goToDisk, startFromDisk } from './go-to-disk.ts';
import { holdBack } from './hold-back.ts';
import type { Installation, StickContext } from './installation.ts';
import { openStick } from './medium.ts';
import { type Payload, servePayload } from './payload-server.ts';
import { runStep } from './run-step.ts';
import { type MachineStatus, StickFolder } from './stick-folder.ts';

const ERASE = 'erase_non_removable_disks';

/**
 * Installs this machine from the stick it was started from, without any server:
 * 1 find the stick, check its signature  2 which entry is this machine  3 installed already? then on to the disk
 * 4 show the plan, let a person stop it  5 image, held back; other disks erased, if asked for  6 configuration  7 release, boot order  8 status and log on the stick
 */
export async function installFromStick(context: StickContext): Promise<'reboot' | 'poweroff'> {
  const { args, view, inventory, signal, machine } = context;
  const log: string[] = [];
  const say = (text: string) => {
    log.push(text);
    view.line('stick', text);
  };
  const stickId = args.last('kindling.stick') ?? '';
  const stick = await openStick(stickId, args.last('kindling.stick_key') ?? '', machine.listDisks, signal);
  const folder =
    stick.peoplePath === undefined
      ? undefined
      : new StickFolder(stick.peoplePath, inventory.identity.nodeId, context.run);
  try {
    say(`stick ${stickId}, made ${stick.manifest.createdAt}: signature good`);
    const entry = chooseMachine(stick.manifest.machines, inventory.identity);
    const installation: Installation = { ...context, stick, entry, folder, log, say };
    const before = await folder?.readStatus();
    if (before?.state === 'installed' && before.configId === entry.configId) {
      return await goToDisk(installation, before);
    }
    return await withPayload(installation, install);
  } catch (thrown) {
    await reportFailure(folder, context, log, thrown);
    throw thrown;
  } finally {
    await stick.payload.close();
  }
}

/** Serves the payload during the work; a stick that can no longer be read ends it, whatever step it is at. */
async function withPayload<T>(
  installation: Installation,
  work: (installation: Installation, payload: Payload) => Promise<T>,
): Promise<T> {
  const { stick, signal, run } = installation;
  // Without bring-up of the network not even the machine's own address works.
  await run('ip', ['link', 'set', 'lo', 'up']);
  const lost = new AbortController();
  const payload = await servePayload(stick.payload, stick.manifest.files, (cause) => {
    const message = 'the stick can no longer be read: it was pulled out, or it is worn out';
    lost.abort(new KindlingError('KND_STICK_LOST', message, { cause }));
  });
  try {
    const say = (text: string) => installation.say(payload.withNames(text));
    return await work({ ...installation, say, signal: AbortSignal.any([signal, lost.signal]) }, payload);
  } finally {
    await payload.close();
  }
}

async function install(installation: Installation, payload: Payload): Promise<'reboot' | 'poweroff'> {
  const { stick, entry, consoles, say, signal } = installation;
  const image = {
    IMG_URL: payload.urlOf(stick.manifest.image),
    SHA256: payload.fileOf(stick.manifest.image).sha256,
    KINDLING_DISK: entry.diskSelector,
    ...(stick.manifest.imageManifestRoot === undefined
      ? {}
      : { KINDLING_MANIFEST_ROOT: stick.manifest.imageManifestRoot }),
  };
  const plan = await runStep(installation, 'image2disk', image, { isDryRun: true });
  const erase = { DETACH_REMOVABLE: 'false', ERASE_KEEP: `path=${pathOf(plan)}` };
  const erasePlan = entry.wipeOthers ? await runStep(installation, ERASE, erase, { isDryRun: true }) : {};
  const terminals = consoles.names.map((name) => `/dev/${name}`);
  await confirm(entry, terminals, say, signal);

  // The consent is to the very plans that were shown: another disk, or other contents, and nothing is written.
  const written = await runStep(installation, 'image2disk', { ...image, ...consentTo(plan) });
  const disk = await findWrittenDisk(installation, written);
  if (entry.wipeOthers) {
    // Not before: an image that turns out to be damaged must cost nobody the data on the other disks. Not later: an old volume
    // group on one of them would be in the way of the new one.
    const heldMeanwhile = await holdBack(disk.path, disk.logicalSectorBytes);
    await runStep(installation, ERASE, { ...erase, ...consentTo(erasePlan) });
    await heldMeanwhile.release();
  }
  if (entry.lvmGigabytes !== undefined)
    await runStep(installation, 'lvm-partition', { LVM_SIZE: String(entry.lvmGigabytes) });
  const held = await holdBack(disk.path, disk.logicalSectorBytes);
  await configureDisk(installation, payload, disk, held.release);
  await startFromDisk(installation, disk, entry.after);
  await finish(installation, disk);
  return entry.after;
}

function consentTo({ planHash }: Record<string, unknown>): Record<string, string> {
  return { KINDLING_REQUIRE_CONSENT: 'always', KINDLING_CONSENT: String(planHash ?? '') };
}

function pathOf({ disk }: Record<string, unknown>): string {
  return ((disk ?? {}) as { path?: string }).path ?? '';
}

async function findWrittenDisk({ machine }: Installation, written: Record<string, unknown>): Promise<Disk> {
  const path = pathOf(written);
  const found = (await machine.listDisks()).find((one) => one.path === path);
  if (found !== undefined) return found;
  throw new KindlingError('KND_DISK_NOT_FOUND', `the disk that was just written, ${path}, is gone`);
}

async function finish(installation: Installation, disk: Disk): Promise<void> {
  const { say, folder, log, consoles, entry } = installation;
  const name = disk.serial ?? disk.path;
  const status: MachineStatus = {
    ...baseStatus(installation.inventory, entry.configId),
    state: 'installed',
    disk: name,
  };
  say(`installed on ${name}; next: ${entry.after}`);
  await folder?.write(status, log);
  consoles.marker('INSTALLED', { disk: name, configId: entry.configId });
}

function baseStatus({ identity }: Inventory, configId: string) {
  const { nodeId, serial } = identity;
  return { at: new Date().toISOString(), nodeId, ...(serial ? { serial } : {}), configId };
}

/** On the stick too, where the person finds it who takes the stick back to the desk. */
async function reportFailure(
  folder: StickFolder | undefined,
  { inventory, view }: StickContext,
  log: string[],
  thrown: unknown,
): Promise<void> {
  const { code, message, hint } = toErrorReport(thrown);
  const status: MachineStatus = {
    ...baseStatus(inventory, ''),
    state: 'failed',
    error: { code, message, hint },
  };
  await folder?.write(status, [...log, `${code}: ${message}`]).catch((problem: unknown) => {
    view.line('stick', `the stick could not be written: ${toErrorReport(problem).message}`);
  });
}
