import { bootEntryName } from '../../formats/efi/variables.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { type ActionContext, type ActionResult, defineAction } from '../contract/action.ts';
import { findTargetDisk, SELECTOR_PARAMETER } from '../disks/find-target-disk.ts';
import { mountFilesystem } from '../mounts/mount.ts';
import { mountEfiVariables } from '../mounts/mount-efi-variables.ts';
import { type BootState, readBootState } from './boot-state.ts';
import { type EfiVariables, efiVariables } from './efi-variables.ts';
import { type BootPlan, type BootPolicy, planBootOrder } from './plan-boot-order.ts';
import { findSystemPartition, type Loaders, prepareLoaders } from './system-partition.ts';

const PARAMETERS = {
  ...SELECTOR_PARAMETER,
  DEST_DISK: { type: 'absolute-path', description: 'The disk to boot from; without it the target disk' },
  BOOT_LABEL: { type: 'text', default: 'Kindling', description: 'Name of the entry' },
  BOOT_LOADER: {
    type: 'text',
    pattern: /^\\/,
    description: 'Loader on the system partition, with backslashes; without it the one that is found there',
  },
  BOOT_POLICY: {
    type: 'choice',
    choices: ['disk-first', 'keep-order', 'after-report'],
    default: 'disk-first',
    description:
      'Whether the disk leads from now on (disk-first), only the next boot goes to it (keep-order: sites where PXE must stay first), or it leads once the installed system has reported its first boot (after-report)',
  },
} as const;

const NOTES = [
  'A loader is put at the removable path (`\\EFI\\BOOT\\BOOTX64.EFI`) if none is there, so that the disk boots even when the firmware loses its variables. Our own entry names the partition by its GUID; duplicates of ours are removed, foreign entries are never touched; BootNext sends the first boot to the disk; everything is read back.',
  '`after-report` puts what the machine was booted from (the network) at the head and the disk second: an installed system that does not come up is followed by the Micro-OS, which can say why. A workflow that asks for it must make the installed system commit the order; the orchestrator’s cloud-init and the action `first-boot-report` do.',
  'On a machine that booted by BIOS there is nothing to set. If the firmware’s memory is full or cannot be written, the action succeeds with a warning as long as the loader is at the removable path.',
];

export const bootOrder = defineAction({
  name: 'boot-order',
  aliases: [],
  summary: 'Makes the firmware boot the installed system',
  destroysData: false,
  mayRunAgain: true,
  parameters: PARAMETERS,
  notes: NOTES,
  run: (variables, context) => setBootOrder(variables, context, { removeLabels: [], demoteCurrent: false }),
});

export const efibootset = defineAction({
  name: 'efibootset',
  aliases: [],
  summary: 'Makes the firmware boot the installed system, as EMF does after provisioning',
  destroysData: false,
  mayRunAgain: true,
  parameters: PARAMETERS,
  notes: [
    'As the reference, entries labeled “hookos” are removed and the entry the machine was booted from goes to the end. Unlike it, the action makes an entry for the disk, leaves the network entry active, and fails when it fails.',
    ...NOTES,
  ],
  run: (variables, context) =>
    setBootOrder(variables, context, { removeLabels: ['hookos'], demoteCurrent: true }),
});

interface BootVariables {
  DEST_DISK: string | undefined;
  KINDLING_DISK: string | undefined;
  BOOT_LABEL: string;
  BOOT_LOADER: string | undefined;
  BOOT_POLICY: BootPolicy;
}

async function setBootOrder(
  variables: BootVariables,
  context: ActionContext,
  emf: { removeLabels: string[]; demoteCurrent: boolean },
): Promise<ActionResult> {
  const efivars = await mountEfiVariables(context);
  if (!efivars) {
    return { summary: 'booted by BIOS: there is no boot order to set', data: { firmware: 'bios' } };
  }
  const { disk, disks } = await findTargetDisk(context, {
    device: variables.DEST_DISK,
    selector: variables.KINDLING_DISK,
  });
  const esp = findSystemPartition(disk);

  // 1. A loader where firmware looks without being told.
  const mounted = await mountFilesystem(context, esp.path, { fsType: 'vfat', isReadOnly: context.isDryRun });
  const loaders = await prepareLoaders(mounted.target, {
    wanted: variables.BOOT_LOADER,
    mayCopy: !context.isDryRun,
  });
  await mounted.unmount();

  // 2. What the firmware's own list should be.
  const efi = efiVariables(efivars);
  const state = await readBootState(efi);
  const plan = planBootOrder(state, {
    label: variables.BOOT_LABEL,
    loader: loaders.loader,
    drive: {
      partition: esp.number,
      startLba: BigInt(esp.startBytes / disk.logicalSectorBytes),
      sizeLba: BigInt(esp.sizeBytes / disk.logicalSectorBytes),
      partUuid: esp.partUuid ?? '',
    },
    partitions: disks.flatMap(({ partitions }) => partitions.flatMap(({ partUuid }) => partUuid ?? [])),
    policy: variables.BOOT_POLICY,
    ...emf,
  });
  for (const line of plan.summary) context.log('info', line);
  if (context.isDryRun)
    return { summary: plan.summary.join('; ') || 'the boot order is right', data: { order: plan.order } };

  // 3. Write it, and believe only what can be read back.
  const problem = await applyBootPlan(efi, plan);
  return outcome(plan, state, loaders, disk, problem, context);
}

/** Writes the plan; undefined if all of it could be read back, else why the firmware did not take it. */
export async function applyBootPlan(efi: EfiVariables, plan: BootPlan): Promise<KindlingError | undefined> {
  try {
    for (const change of plan.changes) {
      if ('remove' in change) await efi.remove(change.name);
      else await efi.write(change.name, change.value);
    }
    for (const change of plan.changes) {
      const now = await efi.read(change.name);
      const isRight = 'remove' in change ? now === undefined : now?.equals(change.value);
      if (!isRight)
        return new KindlingError('KND_NVRAM_READ_ONLY', `the firmware did not keep ${change.name}`);
    }
    return undefined;
  } catch (thrown) {
    if (thrown instanceof KindlingError) return thrown;
    throw thrown;
  }
}

function outcome(
  plan: BootPlan,
  state: BootState,
  loaders: Loaders,
  disk: Disk,
  problem: KindlingError | undefined,
  context: ActionContext,
): ActionResult {
  const data = {
    entry: bootEntryName(plan.entry),
    order: plan.order.map(bootEntryName),
    orderBefore: state.order.map(bootEntryName),
    loader: loaders.loader,
    removablePath: loaders.removable,
  };
  if (!problem)
    return { summary: `the firmware boots ${loaders.loader} on ${disk.path} next (${data.entry})`, data };
  if (loaders.removable === 'missing') throw problem;
  context.log('warn', `${problem.message}; the disk is left to boot by its removable path`);
  return {
    summary: `the firmware takes no entry, ${disk.path} boots by its removable path`,
    data: { ...data, problem: problem.code },
  };
}
