import { createHash } from 'node:crypto';
import { parse, stringify } from 'yaml';
import type { FileToPlace } from '../target-root/place-file.ts';

export const SETTINGS_PATH = '/etc/cloud/cloud.cfg.d/99-kindling.cfg';

export interface Seed {
  userData: string;
  metaData?: string | undefined;
  networkConfig?: string | undefined;
  vendorData?: string | undefined;
  hostname?: string | undefined;
  instanceId?: string | undefined;
  /** What tells the machine from all others: two nodes with the same configuration are two instances. */
  machine?: string | undefined;
}

/** Where a mutable system has it. */
export const SEED_FOLDER = '/var/lib/cloud/seed/nocloud';

/** The file without which cloud-init takes no seed; it takes one that has only this and user-data. */
export const SEED_KEY = 'meta-data';

/**
 * Where the seed goes, in the order in which it is to be written: what makes cloud-init take it comes last, so a node that loses power
 * in the middle does not start with half of its configuration.
 * On a system whose /var lasts: the NoCloud seed folder, which cloud-init treats as what it is, user data. On an
 * immutable one, whose /var is empty at every boot: the same data inline in one file below /etc/cloud, which is kept (and sealed with the root).
 * Either way a stick labeled CIDATA cannot replace it later: the label is turned off.
 */
export function seedFiles(kind: 'mutable' | 'immutable', seed: Seed): FileToPlace[] {
  const metaData = metaDataOf(seed);
  const noCloud = {
    fs_label: null,
    ...(kind === 'immutable' ? { 'meta-data': metaData, 'user-data': seed.userData } : {}),
    ...(kind === 'immutable' && seed.vendorData ? { 'vendor-data': seed.vendorData } : {}),
  };
  const settings = {
    datasource_list: ['NoCloud', 'None'],
    datasource: { NoCloud: noCloud },
    // The system's own place for it: an inline datasource takes no network configuration.
    ...(kind === 'immutable' && seed.networkConfig ? { network: networkOf(seed.networkConfig) } : {}),
  };
  const settingsFile: FileToPlace = {
    path: SETTINGS_PATH,
    contents: `# Written by Kindling when this system was installed.\n${stringify(settings, { lineWidth: 0 })}`,
    mode: 0o600, // user data may hold secrets
  };
  const identify: FileToPlace = { path: '/etc/cloud/ds-identify.cfg', contents: 'datasource: NoCloud\n' };
  if (kind === 'immutable') return [identify, settingsFile];
  const inSeed = (name: string, contents: string | undefined): FileToPlace[] =>
    contents === undefined ? [] : [{ path: `${SEED_FOLDER}/${name}`, contents, mode: 0o600 }];
  return [
    settingsFile,
    identify,
    ...inSeed('network-config', seed.networkConfig),
    ...inSeed('vendor-data', seed.vendorData),
    ...inSeed('user-data', seed.userData),
    ...inSeed(SEED_KEY, stringify(metaData)),
  ];
}

/** Another configuration is another instance, so that cloud-init runs everything again; the same one is the same. */
function metaDataOf(seed: Seed): Record<string, unknown> {
  const given = (seed.metaData ? parse(seed.metaData) : {}) as Record<string, unknown>;
  const hash = createHash('sha256').update(JSON.stringify(seed)).digest('hex').slice(0, 16);
  return {
    ...given,
    'instance-id': seed.instanceId ?? given['instance-id'] ?? `iid-${seed.machine ?? 'kindling'}-${hash}`,
    ...(seed.hostname ? { 'local-hostname': seed.hostname } : {}),
  };
}

function networkOf(text: string): unknown {
  const value = parse(text) as { network?: unknown };
  return value.network ?? value;
}
