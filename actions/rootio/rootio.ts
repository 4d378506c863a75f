import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { encodeGpt, type Piece } from '../../formats/partition-table/gpt-encode.ts';
import { encodeMbr } from '../../formats/partition-table/mbr-encode.ts';
import { fetchText } from '../../net/http.ts';
import { siteNetwork } from '../../net/site-network.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { type ActionContext, type ActionResult, defineAction } from '../contract/action.ts';
import { BlockDevice } from '../disks/block-device.ts';
import { chooseTargetDisk, findDisk, whyNever } from '../disks/choose-target.ts';
import { describeDisk } from '../disks/describe-disk.ts';
import { identityOf } from '../disks/disk-identity.ts';
import { partitionPath, splitPartitionPath } from '../disks/partition-paths.ts';
import { announcePlan, CONSENT_PARAMETERS, checkPlanHolds, type DiskPlan, planFor } from '../disks/plan.ts';
import { waitForPartitions } from '../disks/wait-for-partitions.ts';
import { eraseDisk } from '../erase/erase-disk.ts';
import { tearDownHolders } from '../erase/holders.ts';
import { lvm, makeVolumeGroup } from '../volume-groups/volume-group.ts';
import {
  formatCommand,
  parseMetadata,
  planMbrPartitions,
  planPartitions,
  type RootioDisk,
  type RootioStorage,
  type RootioVolumeGroup,
} from './storage.ts';

/** Where "mount" puts the file systems, for the actions that follow. */
const MOUNT_ROOT = '/mnt';
const SILENCE_MS = 60_000;

export const rootio = defineAction({
  name: 'rootio',
  aliases: [],
  summary: 'Partitions, formats, mounts or wipes disks as the metadata of the machine says',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    MIRROR_HOST: {
      type: 'text',
      pattern: /^(\[[0-9a-fA-F:.]+\]|[\w.-]+)$/,
      description: 'Host of the metadata service: a name, an address, or an IPv6 address in brackets',
    },
    METADATA_SERVICE_PORT: { type: 'integer', default: 50061, min: 1, max: 65535, description: 'Its port' },
    JSON_FILE: { type: 'absolute-path', description: 'Metadata from a file instead' },
    TEST: { type: 'flag', description: 'Accepted with JSON_FILE, as in the reference' },
    MBR: { type: 'flag', description: 'Write an MBR instead of a GUID partition table' },
    ...CONSENT_PARAMETERS,
  },
  notes: [
    'The command of the action says what to do: `partition`, `format`, `mount`, `wipe` or `version`. Sizes are in sectors of 512 bytes, 0 is the rest of the disk; the labels SWAP, BIOS and EFI set the type; with MBR the labels are SWAP, LINUX, LINUX_ACTIVE, FAT32 and FAT32_ACTIVE. `partition` also makes the `volume_groups` of the metadata (sizes in bytes, 0 is the rest). What fails, fails: the reference only logs it and ends with success.',
  ],
  async run(variables, context) {
    const [command = ''] = context.args;
    if (command === 'version') return { summary: 'rootio, built into Kindling’s agent' };
    if (!['partition', 'format', 'mount', 'wipe'].includes(command)) {
      throw new KindlingError(
        'KND_ACTION_VARIABLES',
        `rootio: "${command}" is not one of partition, format, mount, wipe`,
      );
    }
    const storage = parseMetadata(await fetchMetadata(variables, context));
    if (command === 'partition') return partition(storage, variables, context);
    if (command === 'wipe') return wipe(storage, variables, context);
    return command === 'format' ? format(storage, variables, context) : mount(storage, context);
  },
});

interface RootioVariables {
  MIRROR_HOST: string | undefined;
  METADATA_SERVICE_PORT: number;
  MBR: boolean;
  JSON_FILE: string | undefined;
  KINDLING_REQUIRE_CONSENT: 'never' | 'non-empty' | 'always';
  KINDLING_CONSENT: string | undefined;
}

async function fetchMetadata(
  { MIRROR_HOST, METADATA_SERVICE_PORT, JSON_FILE }: RootioVariables,
  { signal }: ActionContext,
): Promise<string> {
  if (JSON_FILE !== undefined) return readFile(JSON_FILE, 'utf8');
  if (MIRROR_HOST === undefined)
    throw new KindlingError('KND_ACTION_VARIABLES', 'rootio: MIRROR_HOST is required');
  const { status, body } = await fetchText(
    siteNetwork(),
    `http://${MIRROR_HOST}:${METADATA_SERVICE_PORT}/metadata`,
    { signal, stallMs: SILENCE_MS, followsRedirects: true, code: 'KND_DOWNLOAD' },
  );
  if (status === 200) return body;
  throw new KindlingError('KND_DOWNLOAD', `the metadata service answered ${status}`);
}

/** The disks the metadata names, as the inventory knows them, with the plan announced. */
async function plannedDisks(
  storage: RootioStorage,
  purpose: string,
  variables: RootioVariables,
  context: ActionContext,
): Promise<{ pairs: { wanted: RootioDisk; disk: Disk }[]; plan: DiskPlan }> {
  const disks = await context.machine.listDisks();
  const pairs = storage.disks.map((wanted) => ({
    wanted,
    disk: chooseTargetDisk(disks, { device: wanted.device }).disk,
  }));
  if (pairs.length === 0) throw new KindlingError('KND_METADATA_INVALID', 'the metadata names no disks');
  const named = new Set(pairs.map(({ disk }) => disk));
  if (named.size < pairs.length)
    throw new KindlingError('KND_METADATA_INVALID', 'the metadata names one disk twice');
  const others = disks.filter((disk) => !named.has(disk));
  const plan = planFor(
    purpose,
    [...named],
    others.map((disk) => ({ disk, reason: 'the metadata does not name it' })),
  );
  askConsent(context, plan, variables);
  return { pairs, plan };
}

function askConsent(context: ActionContext, plan: DiskPlan, variables: RootioVariables): void {
  announcePlan(context, plan, {
    policy: variables.KINDLING_REQUIRE_CONSENT,
    given: variables.KINDLING_CONSENT,
  });
}

async function partition(
  storage: RootioStorage,
  variables: RootioVariables,
  context: ActionContext,
): Promise<ActionResult> {
  const { pairs, plan } = await plannedDisks(storage, 'partition', variables, context);
  // All are encoded before the first is written: a mistake on the second disk must not cost the first.
  const tables = pairs.map(({ wanted, disk }) => ({
    disk,
    ...(variables.MBR ? mbrTable(wanted, disk) : gptTable(wanted, disk)),
  }));
  if (context.isDryRun) return { summary: `would partition ${pairs.length} disks` };
  checkPlanHolds(plan, await context.machine.listDisks());
  for (const { disk, numbers, pieces } of tables) {
    await tearDownHolders(disk.name, context.run, (message) => context.log('info', message));
    {
      await using device = await BlockDevice.open(disk.path);
      if (variables.MBR) await clearGpt(device);
      for (const { offset, bytes } of pieces) await device.writeAt(offset, bytes);
      await device.sync();
    }
    await context.run('blockdev', ['--rereadpt', disk.path], {
      okExitCodes: disk.kind === 'loop' ? [0, 1] : [0],
    });
    if (disk.kind !== 'loop')
      await waitForPartitions(
        context,
        disk.path,
        numbers.map((number) => partitionPath(disk.path, number)),
      );
  }
  for (const group of storage.volume_groups) await makeVolumes(context, group);
  return { summary: `partitioned ${tables.map(({ disk }) => disk.path).join(', ')}` };
}

interface Table {
  numbers: number[];
  pieces: Piece[];
}

function gptTable(wanted: RootioDisk, disk: Disk): Table {
  const size = { sizeBytes: disk.sizeBytes, sectorBytes: disk.logicalSectorBytes };
  const partitions = planPartitions(wanted, size);
  const pieces = encodeGpt({ diskGuid: randomUUID(), ...size, partitions });
  return { numbers: partitions.map(({ number }) => number), pieces };
}

function mbrTable(wanted: RootioDisk, disk: Disk): Table {
  const size = { sizeBytes: disk.sizeBytes, sectorBytes: disk.logicalSectorBytes };
  const partitions = planMbrPartitions(wanted, size);
  const sector = encodeMbr({ ...size, partitions, diskSignature: randomBytes(4).readUInt32LE() });
  return { numbers: partitions.map(({ number }) => number), pieces: [{ offset: 0, bytes: sector }] };
}

/** An old GUID partition table beside the new MBR would be the one that counts. */
async function clearGpt(device: BlockDevice): Promise<void> {
  await device.zero(0, 1 << 20);
  await device.zero(device.sizeBytes - (1 << 20), 1 << 20);
}

async function makeVolumes(context: ActionContext, group: RootioVolumeGroup): Promise<void> {
  await makeVolumeGroup(context, group.name, group.physical_volumes);
  for (const { name, size } of group.logical_volumes) {
    const { exitCode } = await lvm(context, ['lvs', `${group.name}/${name}`], [0, 5]);
    if (exitCode === 0) continue; // from an earlier run
    const amount = size === 0 ? ['-l', '100%FREE'] : ['-L', `${size}b`];
    await lvm(context, ['lvcreate', '-y', '-W', 'y', '-n', name, ...amount, group.name]);
  }
  await lvm(context, ['vgchange', '-ay', group.name]);
}

async function wipe(
  storage: RootioStorage,
  variables: RootioVariables,
  context: ActionContext,
): Promise<ActionResult> {
  const { pairs, plan } = await plannedDisks(storage, 'wipe', variables, context);
  if (context.isDryRun) return { summary: `would wipe ${pairs.length} disks` };
  checkPlanHolds(plan, await context.machine.listDisks());
  for (const { disk } of pairs) {
    await eraseDisk(
      { disk, method: 'quick', samples: 2 },
      {
        ...context,
        onProgress: (stage) => context.emit({ type: 'progress', stage: `wiping ${disk.name}: ${stage}` }),
      },
    );
  }
  return { summary: `wiped ${pairs.map(({ disk }) => disk.path).join(', ')}` };
}

async function format(
  storage: RootioStorage,
  variables: RootioVariables,
  context: ActionContext,
): Promise<ActionResult> {
  const commands = storage.filesystems.map(({ mount: { device, format: kind, create } }) => {
    const command = formatCommand(kind, create.options, device);
    if (!command)
      throw new KindlingError('KND_METADATA_INVALID', `${device}: there is no file system "${kind}"`);
    return command;
  });
  const disks = await context.machine.listDisks();
  for (const { mount } of storage.filesystems) refuseWrongDisk(disks, mount.device);
  const plan = planFormats(storage, disks);
  askConsent(context, plan, variables);
  if (context.isDryRun)
    return { summary: commands.map(([program, args]) => [program, ...args].join(' ')).join('; ') };
  // Volumes of LVM are no disks: of them there is nothing to compare.
  const onDisks = plan.destroys.filter(({ disk }) => disks.some(({ path: name }) => name === disk.path));
  checkPlanHolds({ ...plan, destroys: onDisks }, await context.machine.listDisks());
  for (const [program, args] of commands) await context.run(program, args);
  return { summary: `formatted ${commands.length} file systems` };
}

/** What formatting destroys: not whole disks, but the partitions that get a file system. What the inventory does not know may hold anything. */
function planFormats({ filesystems }: RootioStorage, disks: readonly Disk[]): DiskPlan {
  const destroys = filesystems.map(({ mount: { device } }) => {
    const parts = splitPartitionPath(device);
    const disk = findDisk(disks, parts?.disk ?? device);
    if (!disk)
      return { disk: { path: device, sizeBytes: 0 }, description: device, contents: [`${device} unknown`] };
    const partition = disk.partitions.find(({ number }) => number === parts?.number);
    const signatures = (parts ? partition?.signatures : disk.signatures) ?? [];
    return {
      disk: identityOf(disk),
      description: parts ? `partition ${parts.number} of ${describeDisk(disk)}` : describeDisk(disk),
      contents: signatures.map(
        ({ type, label }) =>
          `${device} ${label ? `${type} "${label}"` : type} (partition ${parts?.number ?? 'none'})`,
      ),
    };
  });
  const used = new Set(destroys.map(({ disk }) => disk.path));
  const others = disks.filter(({ path: name }) => !used.has(name));
  return {
    purpose: 'format',
    destroys,
    leavesAlone: others.map((disk) => ({ disk: identityOf(disk), reason: 'the metadata does not name it' })),
  };
}

/** The metadata may name any device; the stick the Micro-OS came from must not get a file system. */
function refuseWrongDisk(disks: readonly Disk[], device: string): void {
  const disk = findDisk(disks, splitPartitionPath(device)?.disk ?? device);
  const reason = disk && whyNever(disk);
  if (reason) throw new KindlingError('KND_DISK_REFUSED', `${device} cannot be formatted: ${reason}`);
}

/** Mounts stay after the action, because that is what it is for; the shortest path first, so that each lies on the one above. */
async function mount(storage: RootioStorage, context: ActionContext): Promise<ActionResult> {
  const wanted = storage.filesystems
    .map(({ mount: each }) => each)
    .filter(({ point, format: kind }) => point !== '' && kind !== 'swap')
    .sort((a, b) => a.point.length - b.point.length);
  if (context.isDryRun)
    return {
      summary: `would mount ${wanted.map(({ device, point }) => `${device} on ${MOUNT_ROOT}${point}`).join(', ')}`,
    };
  for (const { device, format: kind, point } of wanted) {
    const target = path.join(MOUNT_ROOT, point);
    await mkdir(target, { recursive: true });
    if (await isMountedOn(device, target)) continue; // by an earlier run
    await context.run('mount', ['-t', kind, device, target]);
  }
  return { summary: `mounted ${wanted.length} file systems below ${MOUNT_ROOT}` };
}

async function isMountedOn(device: string, target: string): Promise<boolean> {
  const mounts = await readFile('/proc/mounts', 'utf8');
  return mounts.split('\n').some((line) => line.startsWith(`${device} ${target} `));
}
