import type { Disk, Inventory } from '../../protocol/inventory.ts';
import { FIRST_NIC_MAC, NODE_ID, type StickMachine, stickFileName } from '../../protocol/stick.ts';
import type { Installation } from './installation.ts';
import type { Payload } from './payload-server.ts';
import { serveRecoveryKeys } from './recovery-key-server.ts';
import { runStep } from './run-step.ts';

/** Everything the machine's own entry asks for, on a disk that cannot start yet; then it can. The seal comes after all that changes the root. */
export async function configureDisk(
  installation: Installation,
  payload: Payload,
  disk: Disk,
  release: () => Promise<void>,
): Promise<void> {
  const { entry, inventory } = installation;
  await runStep(installation, 'cloud-init', {
    USER_DATA: entry.userData.replaceAll(NODE_ID, stickFileName(inventory.identity.nodeId)),
    NETWORK_CONFIG: entry.networkConfig.replaceAll(FIRST_NIC_MAC, firstNicMac(inventory)),
    INSTANCE_ID: `iid-${inventory.identity.nodeId}-${entry.configId}`,
    TARGET_KIND: entry.targetKind,
    ...(entry.hostname === undefined ? {} : { HOSTNAME: entry.hostname }),
  });
  for (const artifact of entry.artifacts) {
    await runStep(installation, 'fetchfile', {
      URL: payload.urlOf(artifact.name),
      SHA256: payload.fileOf(artifact.name).sha256,
      MODE: artifact.mode,
      ...placeOf(artifact.path, entry, disk),
    });
  }
  await release(); // the actions below write a partition table of their own
  if (entry.seal !== undefined) await seal(installation, entry.seal);
}

/** The recovery key of an encrypted disk goes to the stick; where that has no place for it, fde_dmv refuses. */
async function seal(installation: Installation, wish: NonNullable<StickMachine['seal']>): Promise<void> {
  const { entry, folder } = installation;
  const keys = wish.isEncrypted && folder ? await serveRecoveryKeys(folder) : undefined;
  try {
    await runStep(installation, 'fde_dmv', {
      ENABLE_ONLY_DMVERITY: String(!wish.isEncrypted),
      LVM_SIZE: String(wish.lvmGigabytes),
      // Disks outside the plan stay as they are; those that were erased for this machine are its own.
      KINDLING_OTHER_DISKS: entry.wipeOthers ? 'use' : 'leave',
      ...(keys ? { KINDLING_ESCROW_URL: keys.url } : {}),
    });
  } finally {
    await keys?.close();
  }
}

/** The card for a configuration that names none: the one with a link, else the first. */
function firstNicMac({ nics }: Inventory): string {
  return (nics.find(({ hasLink }) => hasLink) ?? nics[0])?.mac ?? '00:00:00:00:00:00';
}

/** Edge Microvisor systems mount their state partition over /opt: what is put below /opt of the root would never be seen. */
function placeOf(path: string, { targetKind }: StickMachine, disk: Disk): Record<string, string> {
  const state = disk.partitions.find(({ partLabel }) => partLabel === 'edge_persistent');
  if (targetKind !== 'immutable' || state === undefined || !path.startsWith('/opt/'))
    return { DEST_PATH: path };
  return { DEST_DISK: state.path, DEST_PATH: path.slice('/opt'.length) };
}
