import type { ErasureCertificate } from '../../protocol/erasure-certificate.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk } from '../../protocol/inventory.ts';
import { readCapabilities } from './capabilities.ts';
import { applyMethod, checkErased, type EraseContext, type EraseRequest, prepareDisk } from './erase-disk.ts';
import { chooseMethod, erasesController } from './methods.ts';
import { byController, namespacesBeside } from './nvme-namespaces.ts';

export type ControllerRequest = Omit<EraseRequest, 'disk'> & { disks: readonly Disk[] };

/**
 * The disks in groups that one command erases: a sanitize, and on many controllers a format, is of all namespaces at once. One that would take a disk
 * along that is to stay is refused here, before anything is touched.
 */
export async function groupsOfOneErase(
  { disks, method, kept = [] }: ControllerRequest,
  context: Pick<EraseContext, 'run' | 'nvme'>,
): Promise<Disk[][]> {
  const groups = await Promise.all(
    byController(disks).map(async (group) => {
      const [first] = group;
      if (!first || !method.startsWith('nvme-')) return group.map((disk) => [disk]);
      const capabilities = await readCapabilities(first, context.run, context.nvme);
      if (!erasesController(method, capabilities.nvme)) return group.map((disk) => [disk]);
      const keptNamespaces = namespacesBeside(first, kept);
      // What the disk cannot do at all is its own failure, and no reason to leave the others as they are.
      if (keptNamespaces.length > 0) chooseMethod(method, first.path, { ...capabilities, keptNamespaces });
      return [group];
    }),
  );
  return groups.flat();
}

/** Erases all namespaces of a controller by one command, and says for each what is proved. Not one is erased unless all can be. */
export async function eraseController(
  { disks, ...how }: ControllerRequest,
  contextOf: (disk: Disk) => EraseContext,
): Promise<PromiseSettledResult<ErasureCertificate>[]> {
  const preparations = await Promise.allSettled(
    disks.map((disk) => prepareDisk({ disk, ...how }, contextOf(disk))),
  );
  const prepared = preparations.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const [first] = prepared;
  if (!first || prepared.length < disks.length) {
    return preparations.map((each, index) =>
      each.status === 'rejected' ? each : rejected(spared(disks[index], preparations, disks)),
    );
  }
  try {
    const contexts = prepared.map(({ disk }) => contextOf(disk));
    await applyMethod(first, {
      ...contextOf(first.disk),
      onProgress: (stage, percent) => {
        for (const { onProgress } of contexts) onProgress(stage, percent);
      },
    });
  } catch (reason) {
    return prepared.map(() => rejected(reason));
  }
  return Promise.allSettled(prepared.map((each) => checkErased(each, contextOf(each.disk))));
}

function rejected(reason: unknown): PromiseRejectedResult {
  return { status: 'rejected', reason };
}

function spared(
  disk: Disk | undefined,
  preparations: readonly PromiseSettledResult<unknown>[],
  disks: readonly Disk[],
): KindlingError {
  const failed = disks.filter((_, index) => preparations[index]?.status === 'rejected');
  return new KindlingError(
    'KND_ERASE_INCOMPLETE',
    `${disk?.path} was not erased: one command erases its whole controller, and ${failed.map(({ path }) => path).join(', ')} cannot be`,
  );
}
