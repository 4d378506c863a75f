import type { Disk } from '../../protocol/inventory.ts';

/** What tells one disk from all others, whatever the kernel calls it today. */
export interface DiskIdentity {
  path: string;
  sizeBytes: number;
  serial?: string;
  wwn?: string;
  model?: string;
}

export function identityOf({ path, sizeBytes, serial, wwn, model }: Disk): DiskIdentity {
  return {
    path,
    sizeBytes,
    ...(serial ? { serial } : {}),
    ...(wwn ? { wwn } : {}),
    ...(model ? { model } : {}),
  };
}

/** Whether a disk is the planned one. The kernel name counts only for disks that have neither serial nor WWN. */
export function isSameDisk(planned: DiskIdentity, disk: Disk): boolean {
  const hasIdentity = planned.serial !== undefined || planned.wwn !== undefined;
  return (
    planned.sizeBytes === disk.sizeBytes &&
    planned.serial === (disk.serial || undefined) &&
    planned.wwn === (disk.wwn || undefined) &&
    planned.model === (disk.model || undefined) &&
    (hasIdentity || planned.path === disk.path)
  );
}
