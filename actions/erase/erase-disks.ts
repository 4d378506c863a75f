import type { Disk } from '../../protocol/inventory.ts';
import { type ActionContext, defineAction } from '../action.ts';
import { whyNever, whyNotByItself } from '../disks/choose-target.ts';
import { describeDisk } from '../disks/describe-disk.ts';
import { parseDiskSelector } from '../disks/disk-selector.ts';
import { announcePlan, CONSENT_PARAMETERS, checkPlanHolds, planFor } from '../disks/plan.ts';
import { signCertificate } from './certificate.ts';
import { detachDisk } from './detach.ts';
import { eraseDisk } from './erase-disk.ts';
import { ERASE_METHODS } from './methods.ts';

export const eraseDisks = defineAction({
  name: 'erase_non_removable_disks',
  aliases: ['erase-disks', 'disk-wipe'],
  summary: 'Detaches removable media and erases every other disk, with proof',
  destroysData: true,
  mayRunAgain: true,
  parameters: {
    ERASE_METHOD: {
      type: 'choice',
      choices: ERASE_METHODS,
      default: 'auto',
      description:
        'How: auto takes discard where the disk has it, else quick; the others fail if a disk cannot do it',
    },
    ERASE_ONLY: { type: 'text', description: 'A disk selector: erase only what it fits' },
    ERASE_KEEP: { type: 'text', description: 'A disk selector: leave alone what it fits (data disks)' },
    ERASE_SAMPLES: {
      type: 'integer',
      default: 64,
      min: 2,
      max: 4096,
      description: 'How many blocks are written before and looked for after',
    },
    DETACH_REMOVABLE: {
      type: 'boolean',
      default: true,
      description: 'Detach removable media and virtual CDs first',
    },
    CERTIFICATE_KEY: {
      type: 'text',
      secret: true,
      description:
        'Ed25519 private key (PEM) that signs the certificates; without it one is made for this run',
    },
    ...CONSENT_PARAMETERS,
  },
  notes: [
    'Holders (LVM, LUKS, md, bcache) are taken down first; both ends of the disk, both ends of every partition and every known signature are cleared and looked for again. All disks are erased at the same time.',
    'The result holds one signed certificate of erasure per disk: serial, method, NIST 800-88 class, samples, times. The class is only claimed if every sample was gone. `quick` and `discard` claim none.',
  ],
  async run(variables, context) {
    const only = variables.ERASE_ONLY === undefined ? undefined : parseDiskSelector(variables.ERASE_ONLY);
    const keep = variables.ERASE_KEEP === undefined ? undefined : parseDiskSelector(variables.ERASE_KEEP);
    const fits = (selector: typeof only, disk: Disk) => selector?.terms.every((term) => term.matches(disk));

    const verdicts = (await context.machine.listDisks())
      .filter(({ kind }) => kind !== 'loop' && kind !== 'ram' && kind !== 'zram')
      .map((disk) => ({
        disk,
        reason:
          whyNever(disk) ??
          whyNotByItself(disk) ??
          (fits(keep, disk) ? `ERASE_KEEP fits it` : undefined) ??
          (only && !fits(only, disk) ? `ERASE_ONLY does not fit it` : undefined),
      }));
    const targets = verdicts.filter(({ reason }) => reason === undefined).map(({ disk }) => disk);
    const others = verdicts.flatMap(({ disk, reason }) => (reason === undefined ? [] : [{ disk, reason }]));
    const plan = planFor(`erase (${variables.ERASE_METHOD})`, targets, others);
    const planHash = announcePlan(context, plan, {
      policy: variables.KINDLING_REQUIRE_CONSENT,
      given: variables.KINDLING_CONSENT,
    });
    if (context.isDryRun) return { summary: `would erase ${targets.length} disks`, data: { planHash } };

    if (variables.DETACH_REMOVABLE) await detachAll(context);
    checkPlanHolds(plan, await context.machine.listDisks());

    const certificates = await eraseAll(targets, context, variables.ERASE_METHOD, variables.ERASE_SAMPLES);
    return {
      summary: `erased ${targets.map((disk) => disk.path).join(', ') || 'no disk: there is none'}`,
      data: {
        planHash,
        certificates: certificates.map((certificate) =>
          signCertificate(certificate, variables.CERTIFICATE_KEY),
        ),
      },
    };
  },
});

async function detachAll(context: ActionContext): Promise<void> {
  const removable = (await context.machine.listDisks()).filter(
    (disk) => (disk.isRemovable || disk.kind === 'cdrom') && disk.sizeBytes > 0,
  );
  for (const disk of removable) {
    const problem = await detachDisk(disk, context.machine.listDisks, context.signal);
    context.log(
      problem ? 'warn' : 'info',
      `${describeDisk(disk)} ${problem ? `stays: ${problem}` : 'was detached'}`,
    );
  }
}

/** Every disk is brought to its end, even if another fails: the first failure is thrown when all are done. */
async function eraseAll(
  targets: readonly Disk[],
  context: ActionContext,
  method: (typeof ERASE_METHODS)[number],
  samples: number,
) {
  const percents = new Map(targets.map(({ name }) => [name, 0]));
  const outcomes = await Promise.allSettled(
    targets.map((disk) =>
      eraseDisk(
        { disk, method, samples },
        {
          ...context,
          onProgress(stage, percent) {
            if (percent !== undefined) percents.set(disk.name, percent);
            const mean = [...percents.values()].reduce((sum, each) => sum + each, 0) / percents.size;
            context.emit({
              type: 'progress',
              stage: `erasing ${disk.name}: ${stage}`,
              percent: mean,
              figures: Object.fromEntries(percents),
            });
          },
        },
      ),
    ),
  );
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}
