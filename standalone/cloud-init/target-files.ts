import { createHash } from 'node:crypto';
import { parse, stringify } from 'yaml';
import { KindlingError } from '../../protocol/error.ts';
import type { Config } from '../config/schema.ts';
import { networkConfig } from './network-config.ts';
import { INSTANCE_ID } from './placeholders.ts';
import { userData } from './user-data.ts';

/** A file that the installer puts into the root file system of the target. */
export interface TargetFile {
  path: string;
  /** Octal, as chmod takes it. */
  mode: string;
  content: string;
}

export interface RenderedMachine {
  userData: string;
  metaData: string;
  networkConfig: string;
  /** Changes whenever the configuration does, so that cloud-init takes it for a new instance. */
  configId: string;
  files: TargetFile[];
}

const DROP_IN = '/etc/cloud/cloud.cfg.d/zz_kindling.cfg';
const SEED = '/var/lib/cloud/seed/nocloud';

/** Everything cloud-init needs on the target, for one machine. Passwords must be hashes already. */
export function renderMachine(config: Config): RenderedMachine {
  const user = `#cloud-config\n${yaml(userData(config))}`;
  const network = networkConfig(config.operatingSystem?.network);
  const hostname = config.operatingSystem?.hostname;
  const meta = yaml({ 'instance-id': INSTANCE_ID, ...(hostname ? { 'local-hostname': hostname } : {}) });
  const configId = createHash('sha256').update(user).update(yaml(network)).digest('hex').slice(0, 12);
  const files =
    config.image?.profile === 'emt' ? immutableFiles(user, meta, network) : seedFiles(user, meta, network);
  return { userData: user, metaData: meta, networkConfig: yaml(network), configId, files };
}

/** An image with a writable /var: the NoCloud seed folder, and no look at a stick that stays in. */
function seedFiles(user: string, meta: string, network: object): TargetFile[] {
  const settings = { datasource_list: ['NoCloud', 'None'], datasource: { NoCloud: { fs_label: null } } };
  return [
    { path: `${SEED}/meta-data`, mode: '0644', content: meta },
    { path: `${SEED}/user-data`, mode: '0600', content: user },
    { path: `${SEED}/network-config`, mode: '0600', content: yaml(network) },
    { path: DROP_IN, mode: '0644', content: yaml(settings) },
  ];
}

/**
 * An image whose /var is volatile: everything in one drop-in below /etc/cloud, which it keeps. The user-data stands
 * inside as user-data, so no other drop-in can replace its runcmd (of two drop-ins cloud-init takes only one's).
 */
function immutableFiles(user: string, meta: string, network: object): TargetFile[] {
  const settings = {
    datasource_list: ['NoCloud', 'None'],
    datasource: { NoCloud: { fs_label: null, 'meta-data': parse(meta), 'user-data': user } },
    network,
  };
  return [
    { path: DROP_IN, mode: '0600', content: yaml(settings) },
    { path: '/etc/cloud/ds-identify.cfg', mode: '0600', content: 'datasource: NoCloud\n' },
  ];
}

/** cloud-init reads YAML 1.1, in which yes, on and 0644 are no texts: such texts get quotes. */
const WRITER = { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false } as const;

/** Written by a real YAML writer, and read back: what cloud-init will see is what was meant. */
function yaml(value: object): string {
  const text = stringify(value, WRITER);
  if (JSON.stringify(parse(text, { version: '1.1' })) !== JSON.stringify(value)) {
    throw new KindlingError('KND_UNEXPECTED', 'the rendered YAML does not read back as it was meant');
  }
  return text;
}
