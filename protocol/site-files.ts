/** The signed list inside a config archive: what else is in it. The agent uses none of it unless the list is the site's. */
export const ARCHIVE_LIST_PATH = 'etc/kindling/archive.signed.json';
export const ARCHIVE_DOMAIN = 'kindling-config-archive';

/** How new a signed list is: a mirror or a node that has seen one takes no lower version, and none after its end. */
export interface Edition {
  version: number;
  /** ISO 8601. */
  expires: string;
}

export interface ArchiveList extends Edition {
  /** The site's id: it stays when keys change. */
  site: string;
  /** Path without a leading slash → SHA-256, hexadecimal. */
  files: Record<string, string>;
}

/**
 * Where EMF's Micro-OS, HookOS and ours look for a site's settings and CA certificates
 * (docs/background/emf.md#site-settings-and-certificates).
 */
export const ENVIRONMENT_PATHS = ['etc/emf/env_config', 'etc/hook/env_config'] as const;
export const CA_PATHS = [
  'etc/idp/ca.pem',
  'etc/idp/server_cert.pem',
  'etc/pki/ca-trust/source/anchors/ca.pem',
] as const;

/** Further places where an agent takes a CA from: EMF's curation and HookOS put one there. */
export const OTHER_CA_PATHS = [
  'etc/pki/ca-trust/source/anchors/server_cert.pem',
  'usr/local/share/ca-certificates/ca.crt',
] as const;

/** The signed list of everything a site serves for booting, beside those files: what a mirror keeps. */
export const BOOT_LIST_NAME = 'boot-files.signed.json';
export const BOOT_DOMAIN = 'kindling-boot-files';

export interface BootList extends Edition {
  /** The site's public keys, newest first: a mirror trusts these from then on, and no others. */
  keys: string[];
  /** Name → what the file must be. */
  files: Record<string, { size: number; sha256: string }>;
}
