import { redact } from '../../net/redact.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { WRITTEN_IMAGE_FIELD, type WrittenImageField } from '../../protocol/written-image.ts';
import type { ActionContext, ActionResult } from '../contract/action.ts';
import { chooseTargetDisk } from '../disks/choose-target.ts';
import { identityOf } from '../disks/disk-identity.ts';
import { announcePlan, checkPlanHolds, planFor } from '../disks/plan.ts';
import { rememberTarget } from '../disks/target-memory.ts';
import { waitForPartitions } from '../disks/wait-for-partitions.ts';
import { tearDownHolders } from '../erase/holders.ts';
import { type WriteImageResult, type WriteProgress, writeImage } from '../image-writer/index.ts';
import { type ImageAccess, type ImageVariables, writeRequestFor } from './write-request.ts';

/** Chooses the disk, says what will be lost, writes the image, and waits until the new partitions can be used. */
export async function writeToTarget(
  action: string,
  variables: ImageVariables,
  context: ActionContext,
  access: ImageAccess = {},
): Promise<ActionResult> {
  const { disk, verdicts } = chooseTargetDisk(await context.machine.listDisks(), {
    device: variables.DEST_DISK,
    selector: variables.KINDLING_DISK,
  });
  const others = verdicts.filter((verdict) => verdict.disk !== disk);
  const plan = planFor(`write ${redact(variables.IMG_URL)}`, [disk], others);
  const planHash = announcePlan(context, plan, {
    policy: variables.KINDLING_REQUIRE_CONSENT,
    given: variables.KINDLING_CONSENT,
  });
  if (context.isDryRun) {
    return {
      summary: `would write ${redact(variables.IMG_URL)} to ${disk.path}`,
      data: { planHash, disk: identityOf(disk) },
    };
  }

  const request = writeRequestFor(action, variables, disk.path, access);
  if (variables.KINDLING_NEIGHBOURS !== undefined && !request.chunks?.neighbors) {
    context.log('warn', 'none of the addresses in KINDLING_NEIGHBOURS is this node’s: it takes no part');
  }
  await tearDownHolders(disk.name, context.run, (message) => context.log('info', message));
  const result = await writeImage(request, {
    signal: context.signal,
    run: context.run,
    log: (level, message, fields) => context.log(level, message, fields),
    onProgress: (progress) => context.emit({ type: 'progress', ...progressEvent(progress) }),
    checkTarget: async () => checkPlanHolds(plan, await context.machine.listDisks()),
  });
  context.log('info', `the write took at most ${peakMemoryMb()} MB of memory`);
  context.log('info', `the image on ${disk.path} is verified`, { ...writtenImage(result) });
  await rememberTarget(disk);
  const partitions = await writtenPartitions(disk, context);
  return {
    summary: `${disk.path}: ${result.closingLine}`,
    data: { planHash, disk: identityOf(disk), partitions, peakMemoryMb: peakMemoryMb(), ...result },
  };
}

/** Into the log, which the server keeps: the shipping record says what is on the disk. */
function writtenImage({ sha256, chunks, bytesRaw }: WriteImageResult): WrittenImageField {
  return {
    [WRITTEN_IMAGE_FIELD]: {
      bytes: bytesRaw,
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(chunks ? { manifestRoot: chunks.manifestRoot } : {}),
    },
  };
}

/** Of this process since it started. */
const peakMemoryMb = () => Math.round(process.resourceUsage().maxRSS / 1024);

function progressEvent({ phase, percent, etaSeconds, waitingFor, ...figures }: WriteProgress) {
  return {
    stage:
      waitingFor ??
      {
        checking: 'checking the image',
        writing: 'writing the image',
        syncing: 'syncing',
        verifying: 'reading back',
        done: 'written',
      }[phase],
    ...(percent === undefined ? {} : { percent }),
    ...(etaSeconds === undefined ? {} : { etaSeconds }),
    figures,
  };
}

async function writtenPartitions(disk: Disk, context: ActionContext): Promise<string[]> {
  const written = (await context.machine.listDisks()).find(({ path }) => path === disk.path);
  const paths = written?.partitions.map(({ path }) => path) ?? [];
  if (disk.kind === 'loop') return paths; // a loop device shows its partitions only if it was set up to
  await waitForPartitions(context, disk.path, paths);
  return paths;
}
