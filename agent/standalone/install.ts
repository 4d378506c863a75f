import type { Machine } from '../../actions/action.ts';
import type { ActionOutcome, RunActionContext } from '../../actions/run-action.ts';
import { type ErrorReport, KindlingError, toErrorReport } from '../../protocol/error.ts';
import { ERROR_CODES, type ErrorCode } from '../../protocol/error-codes.ts';
import type { Inventory } from '../../protocol/inventory.ts';
import { FIRST_NIC_MAC, type StickMachine } from '../../protocol/stick.ts';
import type { Consoles } from '../boot/console/consoles.ts';
import type { View } from '../boot/console/view.ts';
import type { KernelArguments } from '../system/kernel-arguments.ts';
import type { Run } from '../system/run.ts';
import { chooseMachine } from './choose-machine.ts';
import { confirm } from './confirm.ts';
import { openStick, type Stick } from './medium.ts';
import { servePayload } from './payload-server.ts';
import { type MachineStatus, StickFolder } from './stick-folder.ts';

export interface StickContext {
  args: KernelArguments;
  inventory: Inventory;
  view: View;
  consoles: Pick<Consoles, 'names' | 'marker'>;
  signal: AbortSignal;
  machine: Machine;
  run: Run;
  runAction: (
    image: string,
    variables: Record<string, string>,
    context?: RunActionContext,
  ) => Promise<ActionOutcome>;
}

interface Installation extends StickContext {
  stick: Stick;
  entry: StickMachine;
  folder: StickFolder | undefined;
  log: string[];
  say: (text: string) => void;
}

/** A firmware that starts the stick again and again is not fixed by trying for ever. */
const MAX_HAND_OVERS = 3;

const ERASE = 'erase_non_removable_disks';

/**
 * Installs this machine from the stick it was started from, without any server:
 * 1 find the stick, check its signature  2 which entry is this machine  3 installed already? then on to the disk
 * 4 show the plan, let a person stop it  5 image  6 cloud-init  7 artifacts  8 boot order  9 status and log on the stick
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
    return await install(installation);
  } catch (thrown) {
    await reportFailure(folder, context, log, thrown);
    throw thrown;
  } finally {
    await stick.payload.close();
  }
}

async function install(installation: Installation): Promise<'reboot' | 'poweroff'> {
  const { stick, entry, inventory, say, consoles, signal } = installation;
  // Without bring-up of the network not even the machine's own address works.
  await installation.run('ip', ['link', 'set', 'lo', 'up']);
  const payload = await servePayload(stick.payload, stick.manifest.files);
  const fileOf = (name: string) => {
    const file = stick.manifest.files.find((one) => one.name === name);
    if (file === undefined) throw new KindlingError('KND_STICK_INVALID', `the stick has no file ${name}`);
    return file;
  };
  try {
    const image = {
      IMG_URL: payload.urlOf(stick.manifest.image),
      SHA256: fileOf(stick.manifest.image).sha256,
      KINDLING_DISK: entry.diskSelector,
      // A stick that was pulled out does not come back like a network does.
      RETRY_DURATION_MINUTES: '1',
    };
    const erase = { DETACH_REMOVABLE: 'false' };
    const erasePlan = entry.wipeOthers ? await step(installation, ERASE, erase, { isDryRun: true }) : {};
    const plan = await step(installation, 'image2disk', image, { isDryRun: true });
    const terminals = consoles.names.map((name) => `/dev/${name}`);
    await confirm(entry, terminals, say, signal);

    // The consent is to the very plan that was shown: another disk, or other contents, and nothing is written.
    if (entry.wipeOthers) await step(installation, ERASE, { ...erase, ...consentTo(erasePlan) });
    const consent = entry.wipeOthers ? {} : consentTo(plan); // erasing has changed what the plan was made for
    const written = await step(installation, 'image2disk', { ...image, ...consent });
    await step(installation, 'cloud-init', {
      USER_DATA: entry.userData,
      NETWORK_CONFIG: entry.networkConfig.replaceAll(FIRST_NIC_MAC, firstNicMac(inventory)),
      INSTANCE_ID: `iid-${inventory.identity.nodeId}-${entry.configId}`,
      TARGET_KIND: entry.targetKind,
      ...(entry.hostname === undefined ? {} : { HOSTNAME: entry.hostname }),
    });
    for (const { name, path, mode } of entry.artifacts) {
      const file = { URL: payload.urlOf(name), SHA256: fileOf(name).sha256, DEST_PATH: path, MODE: mode };
      await step(installation, 'fetchfile', file);
    }
    await step(installation, 'boot-order', {});
    await finish(installation, diskName(written));
    return entry.after;
  } finally {
    await payload.close();
  }
}

function consentTo({ planHash }: Record<string, unknown>): Record<string, string> {
  return { KINDLING_REQUIRE_CONSENT: 'always', KINDLING_CONSENT: String(planHash ?? '') };
}

/** Runs one action as a workflow would; a failed one ends the installation with its own code. */
async function step(
  { runAction, say, signal }: Installation,
  action: string,
  variables: Record<string, string>,
  options: Pick<RunActionContext, 'isDryRun'> = {},
): Promise<Record<string, unknown>> {
  let lastProgress = '';
  const outcome = await runAction(action, variables, {
    signal,
    ...options,
    onEvent: (event) => {
      if (event.type === 'plan' && options.isDryRun) for (const line of event.summary) say(line);
      if (event.type === 'log' && event.level !== 'debug') say(`${action}: ${event.message}`);
      if (event.type !== 'progress' || event.percent === undefined) return;
      const progress = `${action}: ${event.stage} ${Math.floor(event.percent / 10) * 10} %`;
      if (progress !== lastProgress) say(progress);
      lastProgress = progress;
    },
  });
  if (outcome.status !== 'success') throw errorOf(outcome.error);
  say(`${action}: ${outcome.summary}`);
  return outcome.data ?? {};
}

function errorOf(report: ErrorReport): KindlingError {
  const code = report.code in ERROR_CODES ? (report.code as ErrorCode) : 'KND_UNEXPECTED';
  return new KindlingError(code, report.message, {
    hint: report.hint,
    retryable: report.retryable,
    ...(report.evidence ? { evidence: report.evidence } : {}),
  });
}

/** The card for a configuration that names none: the one with a link, else the first. */
function firstNicMac({ nics }: Inventory): string {
  return (nics.find(({ hasLink }) => hasLink) ?? nics[0])?.mac ?? '00:00:00:00:00:00';
}

function diskName({ disk }: Record<string, unknown>): string {
  const { serial, path } = (disk ?? {}) as { serial?: string; path?: string };
  return serial ?? path ?? 'unknown';
}

async function finish(installation: Installation, disk: string): Promise<void> {
  const { say, folder, log, consoles, entry } = installation;
  const status = { ...baseStatus(installation.inventory, entry.configId), state: 'installed' as const, disk };
  say(`installed on ${disk}; next: ${entry.after}`);
  await folder?.write(status, log);
  consoles.marker('INSTALLED', { disk, configId: entry.configId });
}

/** Installed before, and the firmware started the stick all the same. */
async function goToDisk(installation: Installation, before: MachineStatus): Promise<'reboot' | 'poweroff'> {
  const { say, folder, log, inventory, consoles } = installation;
  const handOvers = (before.handOvers ?? 0) + 1;
  say(`this machine was installed from this stick on ${before.at}`);
  consoles.marker('ALREADY-INSTALLED', { handOvers });
  if (inventory.firmware.kind === 'bios' || handOvers > MAX_HAND_OVERS) {
    say(
      'take the stick out and switch the machine on again; to install anew, delete its file in the folder status',
    );
    return 'poweroff';
  }
  await folder?.write({ ...before, handOvers }, log);
  const disks = await installation.machine.listDisks();
  const disk = disks.find(({ serial, path }) => (serial ?? path) === before.disk);
  await step(installation, 'boot-order', disk === undefined ? {} : { DEST_DISK: disk.path });
  return 'reboot';
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
