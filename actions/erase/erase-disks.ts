import { ERASE_METHODS } from '../../protocol/erase-methods.ts';
import type { ErasureCertificate } from '../../protocol/erasure-certificate.ts';
import { KindlingError, toKindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { type ActionContext, defineAction } from '../contract/action.ts';
import { whyNever, whyNotByItself } from '../disks/choose-target.ts';
import { describeDisk } from '../disks/describe-disk.ts';
import { parseDiskSelector } from '../disks/disk-selector.ts';
import { announcePlan, CONSENT_PARAMETERS, checkPlanHolds, planFor } from '../disks/plan.ts';
import { signCertificate, signingKey } from './certificate.ts';
import { detachDisk } from './detach.ts';
import { eraseController, groupsOfOneErase } from './erase-controller.ts';
import type { EraseRequest } from './erase-disk.ts';

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
    'The result holds one signed certificate of erasure per disk: serial, method, NIST 800-88 class, samples, times. The class is only claimed if every sample was gone. `quick` and `discard` claim none. Each certificate also goes into the log of the node; `kindling certificate verify` checks it ([how](../how-to/prove-an-erasure.md)).',
    'Disks over the network (NVMe over Fabrics, iSCSI, Fibre Channel) are left alone: other machines may use them. `ERASE_ONLY` takes one if it says so, as in `network, serial=…`.',
    'Sanitize, and on many controllers a format, erases every namespace of an NVMe controller: its namespaces are erased by one command, with a certificate for each, and it is refused, before anything is touched, where another namespace is to stay. A sanitize that a drive is still busy with, from a run that was killed or before a power cut, is waited for. The password that ATA secure erase needs is `kindling`; it is taken off again, and a disk that a power cut left locked with it is opened at the next run.',
  ],
  async run(variables, context) {
    const key = signingKey(variables.CERTIFICATE_KEY);
    const only = variables.ERASE_ONLY === undefined ? undefined : parseDiskSelector(variables.ERASE_ONLY);
    const keep = variables.ERASE_KEEP === undefined ? undefined : parseDiskSelector(variables.ERASE_KEEP);
    const fits = (selector: typeof only, disk: Disk) => selector?.terms.every((term) => term.matches(disk));

    const verdicts = (await context.machine.listDisks())
      .filter(({ kind }) => kind !== 'loop' && kind !== 'ram' && kind !== 'zram')
      .map((disk) => ({
        disk,
        reason:
          whyNever(disk) ??
          whyNotByItself(disk, only) ??
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
    const how = {
      method: variables.ERASE_METHOD,
      samples: variables.ERASE_SAMPLES,
      kept: others.map(({ disk }) => disk),
    };
    const groups = await groupsOfOneErase({ disks: targets, ...how }, context);
    if (context.isDryRun) return { summary: `would erase ${targets.length} disks`, data: { planHash } };

    if (variables.DETACH_REMOVABLE) await detachAll(context);
    checkPlanHolds(plan, await context.machine.listDisks());

    const { certificates, failures } = await eraseAll(groups, context, how);
    const signed = certificates.map((certificate) => signCertificate(certificate, key));
    // Into the log, which the server keeps: the result of an action is one line there.
    for (const each of signed) {
      const { disk, nistClass } = each.certificate;
      context.log('info', `certificate of erasure for ${disk.path}: class ${nistClass}`, {
        certificate: each,
      });
    }
    context.signal.throwIfAborted();
    if (failures.length > 0) throw failed(failures, targets.length, signed);
    return {
      summary: `erased ${targets.map((disk) => disk.path).join(', ') || 'no disk: there is none'}`,
      data: { planHash, certificates: signed },
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

/** Every disk is brought to its end, even if another fails. */
async function eraseAll(
  groups: readonly Disk[][],
  context: ActionContext,
  how: Omit<EraseRequest, 'disk'>,
): Promise<{ certificates: ErasureCertificate[]; failures: unknown[] }> {
  const percents = new Map(groups.flat().map(({ name }) => [name, 0]));
  const contextOf = ({ name }: Disk) => ({
    ...context,
    onProgress(stage: string, percent?: number) {
      if (percent !== undefined) percents.set(name, percent);
      const mean = [...percents.values()].reduce((sum, each) => sum + each, 0) / percents.size;
      context.emit({
        type: 'progress',
        stage: `erasing ${name}: ${stage}`,
        percent: mean,
        figures: Object.fromEntries(percents),
      });
    },
  });
  const outcomes = (
    await Promise.all(groups.map((disks) => eraseController({ disks, ...how }, contextOf)))
  ).flat();
  return {
    certificates: outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
    failures: outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])),
  };
}

/** One error for all disks that failed, with the certificates of those that did not. */
function failed(
  failures: readonly unknown[],
  disks: number,
  certificates: readonly unknown[],
): KindlingError {
  const errors = failures.map(toKindlingError);
  const [first] = errors as [KindlingError];
  const text = errors.map(({ message }) => message).join('; ');
  return new KindlingError(
    first.code,
    disks === 1 ? text : `${errors.length} of ${disks} disks were not erased: ${text}`,
    { cause: first.cause, hint: first.hint, evidence: { ...first.evidence, certificates } },
  );
}
