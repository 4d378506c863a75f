import {
  createSecureContext,
  getCACertificates,
  type SecureContext,
  setDefaultCACertificates,
} from 'node:tls';
import { KindlingError } from '../../protocol/error.ts';
import { CA_PATHS, OTHER_CA_PATHS } from '../../protocol/site-files.ts';
import { readIfThere } from '../../system/read-if-there.ts';

/** Where the config archive, EMF's curation and HookOS put the site's CA. All that are there count. */
const SITE_CA_FILES = [...CA_PATHS, ...OTHER_CA_PATHS].map((path) => `/${path}`);

/** Whom the agent believes: the site's CA, the system's roots and Node's own. */
export function loadTrust(caFile: string | undefined): SecureContext {
  const site = caFile === undefined ? readSiteCas() : [readRequired(caFile)];
  const ca = [...new Set([...site.flatMap(splitPem), ...systemRoots()])];
  const key = site.join('\n');
  try {
    const context = CONTEXTS.get(key) ?? createSecureContext({ ca });
    CONTEXTS.set(key, context);
    return context;
  } catch (cause) {
    const where = caFile ?? SITE_CA_FILES.join(', ');
    throw new KindlingError('KND_CONFIG_INVALID', `the CA certificate in ${where} cannot be read`, { cause });
  }
}

/** For actions, which talk to registries, image servers and escrows: every connection of this process believes the site's CA too. */
export function trustSiteByDefault(caFile = process.env['KINDLING_CA_FILE']): void {
  const site = caFile === undefined ? readSiteCas() : [readRequired(caFile)];
  if (site.length === 0) return;
  setDefaultCACertificates([...getCACertificates('default'), ...site.flatMap(splitPem)]);
}

/** Hundreds of roots cost a megabyte and some milliseconds; the simulator's agents share them. */
const CONTEXTS = new Map<string, SecureContext>();

let rootsOnce: string[] | undefined;
function systemRoots(): string[] {
  rootsOnce ??= [...getCACertificates('bundled'), ...getCACertificates('system')];
  return rootsOnce;
}

function splitPem(pem: string): string[] {
  return pem.match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[\s\S]*?-----END [A-Z0-9 ]*CERTIFICATE-----/g) ?? [];
}

function readSiteCas(): string[] {
  return SITE_CA_FILES.map(readIfThere).filter((pem) => pem !== undefined);
}

function readRequired(file: string): string {
  const pem = readIfThere(file);
  if (pem === undefined || splitPem(pem).length === 0) {
    throw new KindlingError('KND_CONFIG_INVALID', `the CA file ${file} is not there or holds no certificate`);
  }
  return pem;
}
