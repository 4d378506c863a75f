import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { PARTITION_TYPES } from '../../formats/partition-table/partition-types.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Disk, Partition } from '../../protocol/inventory.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { describeDisk } from '../disks/describe-disk.ts';

/** The names firmware looks for on a disk it has no entry for (UEFI 2.10, section 3.5.1.1). */
const REMOVABLE_NAMES: Record<string, string> = { x64: 'BOOTX64.EFI', arm64: 'BOOTAA64.EFI' };

export function findSystemPartition(disk: Disk): Partition {
  const esp = disk.partitions.find(({ typeGuid }) => typeGuid?.toLowerCase() === PARTITION_TYPES.esp);
  if (esp) return esp;
  throw new KindlingError('KND_ESP_NONE', `${describeDisk(disk)} has no EFI system partition`);
}

export interface Loaders {
  /** Path with backslashes of the loader an entry should name. */
  loader: string;
  /** What was done or found at the removable path. */
  removable: 'was there' | 'copied' | 'missing';
}

/**
 * Finds the loader on a mounted system partition and sees to it that one is at the removable path, which firmware boots even when its
 * variables are lost or full. A shim needs the files beside it, so the folder's other loaders are copied with it.
 */
export async function prepareLoaders(
  root: string,
  options: { wanted?: string | undefined; mayCopy: boolean; architecture?: string },
): Promise<Loaders> {
  const { wanted, mayCopy, architecture = process.arch } = options;
  const removableName = REMOVABLE_NAMES[architecture] ?? 'BOOTX64.EFI';
  const removable = `\\EFI\\BOOT\\${removableName}`;
  const files = await loaderFiles(root);
  const find = (name: string) => files.find((file) => file.toLowerCase() === name.toLowerCase());
  if (wanted !== undefined && !find(wanted)) {
    throw new KindlingError(
      'KND_LOADER_NONE',
      `${wanted} is not on the system partition; there are ${files.join(', ') || 'no loaders'}`,
    );
  }
  const own = wanted ?? preferred(files.filter((file) => file.toLowerCase() !== removable.toLowerCase()));
  const there = find(removable);
  if (there) {
    // A boot manager at the removable path chooses among the kernels of \EFI\Linux: an entry for one of them would pin a system to its slot.
    const isChosen =
      wanted === undefined && own !== undefined && KERNEL.test(own) && !(await isCopy(root, own, there));
    return { loader: own === undefined || isChosen ? there : own, removable: 'was there' };
  }
  if (own === undefined) {
    // An entry for a file that is not there would be taken by the firmware, and reported as success.
    throw new KindlingError(
      'KND_LOADER_NONE',
      `none of the loaders the system partition should have is there; there are ${files.join(', ') || 'no loaders'}`,
    );
  }
  if (!mayCopy) return { loader: own, removable: 'missing' };
  const isCopied = await copyToRemovable(root, own, removableName, files);
  return { loader: own, removable: isCopied ? 'copied' : 'missing' };
}

/** Every .efi file below /EFI, as firmware spells paths. */
async function loaderFiles(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true }).catch(() => []);
  return entries
    .filter((entry) => /^efi\/.*\.efi$/i.test(entry))
    .map((entry) => `\\${entry.replaceAll('/', '\\')}`)
    .sort();
}

/** A unified kernel image (uapi-group.org, "Boot Loader Specification", type 2). */
const KERNEL = /^\\efi\\linux\\/i;

/** A shim before what it starts; then systemd-boot, GRUB, a unified kernel image. */
function preferred(files: readonly string[]): string | undefined {
  const order = [/\\shim(x64|aa64)\.efi$/i, /\\systemd-boot\w*\.efi$/i, /\\grub(x64|aa64)\.efi$/i, KERNEL];
  for (const pattern of order) {
    const match = files.find((file) => pattern.test(file));
    if (match) return match;
  }
  return undefined;
}

const onDisk = (root: string, file: string) => path.join(root, ...file.split('\\'));

/** Whether what stands there is the same program: then it was copied there, by us or by who made the image. */
async function isCopy(root: string, file: string, other: string): Promise<boolean> {
  const [one, two] = [onDisk(root, file), onDisk(root, other)];
  if ((await stat(one)).size !== (await stat(two)).size) return false;
  return (await readFile(one)).equals(await readFile(two));
}

/** False if the partition has no room for a second copy. */
async function copyToRemovable(
  root: string,
  loader: string,
  removableName: string,
  files: readonly string[],
): Promise<boolean> {
  const folder = path.join(root, 'EFI', 'BOOT');
  const directory = loader.slice(0, loader.lastIndexOf('\\'));
  const siblings = /shim/i.test(loader)
    ? files.filter(
        (file) =>
          file !== loader && file.startsWith(`${directory}\\`) && /\\(grub|mm)(x64|aa64)\.efi$/i.test(file),
      )
    : [];
  // Under another name until it is whole on the disk: the firmware must never find half a loader, and we would take it for one that
  // was there.
  const temporary = path.join(folder, 'KINDLING.NEW');
  try {
    await mkdir(folder, { recursive: true });
    for (const sibling of siblings) {
      const name = sibling.slice(sibling.lastIndexOf('\\') + 1);
      await replaceFile(path.join(folder, name), await readFile(onDisk(root, sibling)), { temporary });
    }
    await replaceFile(path.join(folder, removableName), await readFile(onDisk(root, loader)), { temporary });
    return true;
  } catch (cause) {
    await rm(temporary, { force: true });
    if ((cause as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw cause;
  }
}
