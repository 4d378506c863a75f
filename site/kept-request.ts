import { join } from 'node:path';
import { KindlingError } from '../protocol/error.ts';
import { readIfThere } from '../system/read-if-there.ts';
import type { BootFilesRequest } from './boot-files.ts';
import { writePrivate } from './state-folder.ts';

const FILE = 'boot-files.json';

/** Keeps what a site's boot files were last made of, so that a rotation of keys can make them again. */
export function saveRequest(stateFolder: string, request: BootFilesRequest): void {
  writePrivate(join(stateFolder, FILE), `${JSON.stringify(request, null, 2)}\n`);
}

export function keptRequest(stateFolder: string): BootFilesRequest | undefined {
  const text = readIfThere(join(stateFolder, FILE));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as BootFilesRequest;
  } catch (cause) {
    throw new KindlingError('KND_STUB_STATE', `${join(stateFolder, FILE)} cannot be read`, { cause });
  }
}
