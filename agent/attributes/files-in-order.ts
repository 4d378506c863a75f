import type { MachineFiles } from '../../system/machine-files.ts';

/** Go's os.ReadDir: by the bytes of the names, so cpu10 comes before cpu2. */
export function namesByBytes(files: MachineFiles, folder: string): string[] {
  return files.names(folder).sort((a, b) => (a < b ? -1 : 1));
}

/** A file without the space around it; undefined only if it cannot be read. An empty file is an answer, too. */
export function content(files: MachineFiles, path: string): string | undefined {
  return files.bytes(path)?.toString('utf8').trim();
}
