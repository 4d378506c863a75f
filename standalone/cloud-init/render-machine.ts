import { createHash } from 'node:crypto';
import { parse, stringify } from 'yaml';
import { KindlingError } from '../../protocol/error.ts';
import type { Config } from '../config/schema.ts';
import { networkConfig } from './network-config.ts';
import { type UserDataOptions, userData } from './user-data.ts';

export interface RenderedMachine {
  userData: string;
  metaData: string;
  networkConfig: string;
  /** Changes whenever the configuration does, so that cloud-init takes it for a new instance. */
  configId: string;
  /** Whether /var of the target lasts: it decides where the installer puts all this. */
  targetKind: 'mutable' | 'immutable';
}

/** Everything cloud-init needs on the target, for one machine. Passwords must be hashes already. */
export function renderMachine(config: Config, options: UserDataOptions = {}): RenderedMachine {
  const user = `#cloud-config\n${yaml(userData(config, options))}`;
  const network = networkConfig(config.operatingSystem?.network);
  const hostname = config.operatingSystem?.hostname;
  const configId = createHash('sha256').update(user).update(yaml(network)).digest('hex').slice(0, 12);
  const meta = yaml({
    'instance-id': `iid-${configId}`,
    ...(hostname ? { 'local-hostname': hostname } : {}),
  });
  const targetKind = config.image?.profile === 'emt' ? 'immutable' : 'mutable';
  return { userData: user, metaData: meta, networkConfig: yaml(network), configId, targetKind };
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
