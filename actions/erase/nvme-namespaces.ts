import type { Disk } from '../../protocol/inventory.ts';

/** Other namespaces of the same NVMe controller among these disks. */
export function namespacesBeside(disk: Pick<Disk, 'name'>, others: readonly Disk[]): string[] {
  const controller = controllerOf(disk);
  return others.flatMap((other) =>
    controller !== undefined && other.name !== disk.name && controllerOf(other) === controller
      ? [other.path]
      : [],
  );
}

/** Disks by NVMe controller; every other disk is alone. */
export function byController(disks: readonly Disk[]): Disk[][] {
  return [...Map.groupBy(disks, (disk) => controllerOf(disk) ?? disk.name).values()];
}

function controllerOf({ name }: Pick<Disk, 'name'>): string | undefined {
  return /^nvme\d+(?=n\d+$)/.exec(name)?.[0];
}
