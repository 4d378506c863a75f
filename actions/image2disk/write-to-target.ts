import { access } from 'node:fs/promises';
import { waitFor } from '../../agent/system/wait.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import type { ActionContext, ActionResult } from '../action.ts';
import { chooseTargetDisk } from '../disks/choose-target.ts';
import { identityOf } from '../disks/disk-identity.ts';
import { announcePlan, checkPlanHolds, planFor } from '../disks/plan.ts';
import { rememberTarget } from '../disks/target-memory.ts';
import { tearDownHolders } from '../erase/holders.ts';
import { type WriteImageRequest, type WriteProgress, writeImage } from '../image-writer/index.ts';
import type { Values } from '../parameters.ts';
import type { IMAGE_PARAMETERS } from './image-parameters.ts';

type ImageVariables = Values<typeof IMAGE_PARAMETERS> & { COMPRESSED?: boolean | undefined };

/** Chooses the disk, says what will be lost, writes the image, and waits until the new partitions can be used. */
export async function writeToTarget(
  variables: ImageVariables,
  context: ActionContext,
  access: { bearerToken?: string | undefined } = {},
): Promise<ActionResult> {
  const { disk, verdicts } = chooseTargetDisk(await context.machine.listDisks(), {
    device: variables.DEST_DISK,
    selector: variables.KINDLING_DISK,
  });
  const others = verdicts.filter((verdict) => verdict.disk !== disk);
  const plan = planFor(`write ${withoutCredentials(variables.IMG_URL)}`, [disk], others);
  const planHash = announcePlan(context, plan, {
    policy: variables.KINDLING_REQUIRE_CONSENT,
    given: variables.KINDLING_CONSENT,
  });
  if (context.isDryRun) {
    return {
      summary: `would write ${withoutCredentials(variables.IMG_URL)} to ${disk.path}`,
      data: { planHash },
    };
  }

  await tearDownHolders(disk.name, context.run, (message) => context.log('info', message));
  const result = await writeImage(requestFor(variables, disk, access.bearerToken), {
    signal: context.signal,
    run: context.run,
    log: (level, message, fields) => context.log(level, message, fields),
    onProgress: (progress) => context.emit({ type: 'progress', ...progressEvent(progress) }),
    checkTarget: async () => checkPlanHolds(plan, await context.machine.listDisks()),
  });
  await rememberTarget(disk);
  const partitions = await waitForPartitions(disk, context);
  return {
    summary: `${disk.path}: ${result.closingLine}`,
    data: { planHash, disk: identityOf(disk), partitions, ...result },
  };
}

function requestFor(
  variables: ImageVariables,
  disk: Disk,
  bearerToken: string | undefined,
): WriteImageRequest {
  const mirrors = variables.KINDLING_MIRRORS?.split(/[\s,]+/).filter(Boolean) ?? [];
  return {
    sources: [variables.IMG_URL, ...mirrors],
    target: disk.path,
    expected: {
      ...(variables.SHA256 ? { sha256: variables.SHA256.replace('sha256:', '').toLowerCase() } : {}),
      ...(variables.COMPRESSED === undefined ? {} : { compressed: variables.COMPRESSED }),
    },
    transport: {
      ...(bearerToken ? { bearerToken } : {}),
      ...(variables.TLS_CA_CERT ? { caCertificates: decodeCertificates(variables.TLS_CA_CERT) } : {}),
      ...(variables.HTTP_PROXY ? { httpProxy: variables.HTTP_PROXY } : {}),
      ...(variables.HTTPS_PROXY ? { httpsProxy: variables.HTTPS_PROXY } : {}),
      ...(variables.NO_PROXY ? { noProxy: variables.NO_PROXY } : {}),
    },
    retry: { isEnabled: variables.RETRY_ENABLED, windowMs: variables.RETRY_DURATION_MINUTES * 60_000 },
    readBack: variables.KINDLING_READ_BACK,
    chunks: {
      ...(variables.KINDLING_MANIFEST ? { manifestUrl: variables.KINDLING_MANIFEST } : {}),
      ...(variables.KINDLING_MANIFEST_ROOT ? { manifestRoot: variables.KINDLING_MANIFEST_ROOT } : {}),
    },
  };
}

/** EMF gives Base64 of PEM; PEM itself is taken too. */
function decodeCertificates(text: string): string {
  const pem = text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64').toString();
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  throw new KindlingError(
    'KND_ACTION_VARIABLES',
    'image2disk: TLS_CA_CERT is not Base64 of PEM certificates',
  );
}

function withoutCredentials(url: string): string {
  const parsed = new URL(url);
  parsed.username = '';
  parsed.password = '';
  parsed.search = ''; // signed URLs carry their key there
  return parsed.href;
}

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

/** The kernel reads the new table a moment after the writer asked it to; later actions need the devices. */
async function waitForPartitions(disk: Disk, context: ActionContext): Promise<string[]> {
  const written = (await context.machine.listDisks()).find(({ path }) => path === disk.path);
  const paths = written?.partitions.map(({ path }) => path) ?? [];
  if (disk.kind === 'loop') return paths; // a loop device shows its partitions only if it was set up to
  await waitFor(
    async () => {
      const there = await Promise.all(
        paths.map((path) =>
          access(path).then(
            () => true,
            () => false,
          ),
        ),
      );
      return there.every(Boolean) ? true : undefined;
    },
    {
      name: `the partitions of ${disk.path}`,
      timeoutMs: 20_000,
      signal: context.signal,
      code: 'KND_PARTITIONS_MISSING',
    },
  );
  return paths;
}
