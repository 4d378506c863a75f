import { createHash } from 'node:crypto';
import { KindlingError } from '../../protocol/error.ts';
import { openDocument } from '../../protocol/signed-document.ts';
import {
  ARCHIVE_DOMAIN,
  ARCHIVE_LIST_PATH,
  type ArchiveList,
  CA_PATHS,
  ENVIRONMENT_PATHS,
  OTHER_CA_PATHS,
} from '../../protocol/site-files.ts';
import type { KernelArguments } from '../../system/kernel-arguments.ts';
import type { MachineFiles } from '../../system/machine-files.ts';
import { readSeenVersion, rememberVersion } from './seen-version.ts';

export interface CheckedArchive {
  /** How many files were checked. */
  files: number;
  version: number;
}

/**
 * Refuses the config archive unless the site's key signed it and it is all there as signed. The key comes on the kernel
 * command line (kindling.site_key=), which under Secure Boot is part of what the firmware checked. Without a key there is
 * nothing to check against: the boot script's transport is all the trust there is. A machine that has started with a version takes
 * no older one: a set with a known hole is as well signed as the one that mends it.
 */
export function verifySiteArchive(
  files: MachineFiles,
  args: KernelArguments,
  now = new Date(),
): CheckedArchive | undefined {
  const key = args.last('kindling.site_key');
  if (key === undefined) return undefined;
  const { files: listed, site, version, expires } = openList(files, key);
  const seen = readSeenVersion(files, site) ?? 0;
  if (version < seen)
    throw new KindlingError(
      'KND_ARCHIVE_OLD',
      `the config archive is version ${version}; this machine has started with version ${seen}`,
    );
  if (Date.parse(expires) <= now.getTime())
    throw new KindlingError(
      'KND_ARCHIVE_EXPIRED',
      `the config archive was good until ${expires}, and this machine’s clock says ${now.toISOString()}`,
    );
  for (const [path, expected] of Object.entries(listed)) {
    const contents = files.bytes(path);
    if (contents === undefined)
      throw new KindlingError(
        'KND_ARCHIVE_CHANGED',
        `/${path} is missing, which the site’s config archive lists`,
      );
    if (createHash('sha256').update(contents).digest('hex') !== expected)
      throw new KindlingError('KND_ARCHIVE_CHANGED', `/${path} is not what the site signed`);
  }
  // Nothing may lie where the agent looks that the site did not sign.
  for (const path of [...ENVIRONMENT_PATHS, ...CA_PATHS, ...OTHER_CA_PATHS]) {
    if (!(path in listed) && files.bytes(path) !== undefined)
      throw new KindlingError('KND_ARCHIVE_CHANGED', `/${path} is there, but the site signed no such file`);
  }
  if (version > seen) rememberVersion(files, site, version);
  return { files: Object.keys(listed).length, version };
}

function openList(files: MachineFiles, key: string): ArchiveList {
  const text = files.text(ARCHIVE_LIST_PATH);
  if (text === undefined)
    throw new KindlingError('KND_ARCHIVE_MISSING', `this boot has no config archive (/${ARCHIVE_LIST_PATH})`);
  const opened = openDocument(ARCHIVE_DOMAIN, text, [key]);
  switch (opened.kind) {
    case 'genuine': {
      const list = opened.value as ArchiveList;
      if (typeof list.version === 'number' && /^[\w-]{1,64}$/.test(list.site)) return list;
      throw new KindlingError(
        'KND_ARCHIVE_OLD',
        'the config archive has no version: it was made by Kindling before November 2026',
      );
    }
    case 'foreign':
      throw new KindlingError(
        'KND_ARCHIVE_FOREIGN',
        `the config archive was signed by ${opened.keys.join(', ') || 'nobody'}, not by this site’s key ${key}`,
      );
    default:
      throw new KindlingError('KND_ARCHIVE_CHANGED', 'the list of files in the config archive was changed');
  }
}
