import { KindlingError } from '../protocol/error.ts';
import { closestName } from '../system/closest-name.ts';
import { archive2disk } from './archive2disk/archive2disk.ts';
import { bootOrder, efibootset } from './boot-order/boot-order.ts';
import { cexec } from './cexec/cexec.ts';
import { cloudInit } from './cloud-init/cloud-init.ts';
import type { Action } from './contract/action.ts';
import { eraseDisks } from './erase/erase-disks.ts';
import { fetchfile } from './fetchfile/fetchfile.ts';
import { firstBootReport } from './first-boot-report/first-boot-report.ts';
import { grub2disk } from './grub2disk/grub2disk.ts';
import { image2disk, iso2disk, qemuimg2disk } from './image2disk/image2disk.ts';
import { oci2disk } from './image2disk/oci2disk.ts';
import { kexec } from './kexec/kexec.ts';
import { lvmPartition } from './lvm-partition/lvm-partition.ts';
import { emtPartition } from './microvisor/emt-partition.ts';
import { fdeDmv } from './microvisor/fde-dmv.ts';
import { postMortem } from './post-mortem/post-mortem.ts';
import { reboot } from './reboot/reboot.ts';
import { rootio } from './rootio/rootio.ts';
import { secureBootFlag } from './secure-boot-flag/secure-boot-flag.ts';
import { slurp } from './slurp/slurp.ts';
import { syslinux } from './syslinux/syslinux.ts';
import { kernelupgrd } from './ubuntu/kernelupgrd.ts';
import { writefile } from './writefile/writefile.ts';

/** Every action Kindling runs natively, in the order of the reference page. */
export const CATALOG: readonly Action[] = [
  secureBootFlag,
  eraseDisks,
  image2disk,
  qemuimg2disk,
  iso2disk,
  oci2disk,
  archive2disk,
  rootio,
  writefile,
  fetchfile,
  cexec,
  cloudInit,
  firstBootReport,
  postMortem,
  kernelupgrd,
  lvmPartition,
  fdeDmv,
  emtPartition,
  efibootset,
  bootOrder,
  grub2disk,
  syslinux,
  slurp,
  kexec,
  reboot,
].map((action) => action as unknown as Action);

/**
 * The action an image name stands for: its last path component, without registry, tag and digest.
 * `quay.io/tinkerbell/actions/image2disk:latest`, `localhost:5000/image2disk@sha256:…` and `image2disk` are the same.
 */
export function actionForImage(image: string): Action | undefined {
  const name = lastPathComponent(image);
  return CATALOG.find((action) => [action.name, ...action.aliases].some((known) => sameName(known, name)));
}

/** The action that a misspelled image name probably stands for. */
export function closestActionName(image: string): string | undefined {
  return closestName(
    lastPathComponent(image),
    CATALOG.map(({ name }) => name),
  );
}

export function requireAction(image: string): Action {
  const action = actionForImage(image);
  if (action) return action;
  const meant = closestActionName(image);
  throw new KindlingError(
    'KND_ACTION_UNKNOWN',
    `there is no action "${lastPathComponent(image)}" (from ${image})`,
    {
      ...(meant ? { hint: `Did you mean ${meant}?` } : {}),
      evidence: { image, known: CATALOG.map(({ name }) => name) },
    },
  );
}

export function lastPathComponent(image: string): string {
  const withoutDigest = image.split('@')[0] ?? '';
  const last = withoutDigest.split('/').at(-1) ?? '';
  return last.split(':')[0] ?? '';
}

/** EMF writes erase_non_removable_disks, others the same with dashes. */
function sameName(a: string, b: string): boolean {
  const plain = (name: string) => name.toLowerCase().replaceAll('-', '_');
  return plain(a) === plain(b);
}
