import { createHash, type KeyObject } from 'node:crypto';
import { type CpioEntry, encodeCpio } from '../formats/cpio.ts';
import { KindlingError } from '../protocol/error.ts';
import { sealDocument } from '../protocol/signed-document.ts';
import {
  ARCHIVE_DOMAIN,
  ARCHIVE_LIST_PATH,
  type ArchiveList,
  CA_PATHS,
  type Edition,
  ENVIRONMENT_PATHS,
} from '../protocol/site-files.ts';

/** What a site tells its nodes: whom to trust and where everything is. */
export interface SiteConfig {
  /** PEM of the CAs of the site, which the nodes trust besides the public ones; absent where nothing speaks TLS. */
  ca?: string | undefined;
  /** KEY=VALUE as EMF's Micro-OS reads it (KEYCLOAK_URL, http_proxy, EXTRA_HOSTS, …). */
  environment: Readonly<Record<string, string>>;
  /** The site's id, and how new this archive is. */
  site: string;
  edition: Edition;
}

/**
 * The config archive: a small cpio that a boot program passes as a second initrd. The Micro-OS is the initramfs itself, so
 * these files simply are there when the agent starts. It carries a list of them, signed with the site's key, which the agent
 * checks before it uses any. Same settings, same bytes.
 */
export function packConfigArchive(config: SiteConfig, keys: readonly KeyObject[]): Buffer {
  const { ca, environment, site, edition } = config;
  const settings = Object.entries(environment).map(settingLine).join('');
  const files: [string, string][] = ENVIRONMENT_PATHS.map((path) => [path, settings]);
  if (ca !== undefined) files.push(...CA_PATHS.map((path): [string, string] => [path, `${ca.trimEnd()}\n`]));
  const list: ArchiveList = {
    site,
    ...edition,
    files: Object.fromEntries(files.map(([path, text]) => [path, sha256(text)])),
  };
  files.push([ARCHIVE_LIST_PATH, sealDocument(ARCHIVE_DOMAIN, list, keys)]);

  const folders = new Set(files.flatMap(([path]) => parentsOf(path)));
  const entries: CpioEntry[] = [
    ...[...folders].map((path): CpioEntry => ({ type: 'directory', path, mode: 0o755 })),
    ...files.map(
      ([path, text]): CpioEntry => ({ type: 'file', path, mode: 0o644, contents: Buffer.from(text) }),
    ),
  ];
  return encodeCpio(entries);
}

function settingLine([key, value]: [string, string]): string {
  if (!/^\w+$/.test(key) || /[\r\n]/.test(value))
    throw new KindlingError(
      'KND_USAGE',
      `${key}=${JSON.stringify(value)} is no setting for a config archive`,
      {
        hint: 'A setting is one line, NAME=VALUE, its name of letters, digits and underscores.',
      },
    );
  return `${key}=${value}\n`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
