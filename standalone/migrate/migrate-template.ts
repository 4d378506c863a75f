import { KindlingError } from '../../protocol/error.ts';
import { isTree } from '../config/normalize.ts';
import type { Config } from '../config/schema.ts';
import type { Migration } from './migrate-hybrid.ts';

type Tree = Record<string, unknown>;

/**
 * An EMF cluster template (JSON) as the kubernetes section of a configuration. Texts that EMF keeps in secrets are given
 * by the caller as "name/key → text"; what is not given is noted, and validate will say so too.
 */
export function migrateTemplate(template: Tree, secrets: ReadonlyMap<string, string>): Migration {
  const notes: string[] = [];
  const inner = isTree(template['clusterconfiguration']) ? template['clusterconfiguration'] : template;
  const cluster = structuredClone(inner);
  if (cluster['kind'] !== 'KThreesControlPlaneTemplate') {
    throw new KindlingError(
      'KND_STANDALONE_CONFIG_INVALID',
      `the template is a ${String(cluster['kind'])}, not K3s`,
      {
        hint: 'Only templates with controlplaneprovidertype "k3s" can be converted.',
      },
    );
  }
  const spec = descend(cluster, ['spec', 'template', 'spec', 'kthreesConfigSpec']);
  if (spec === undefined) {
    throw new KindlingError(
      'KND_STANDALONE_CONFIG_INVALID',
      'the template has no spec.template.spec.kthreesConfigSpec',
    );
  }
  resolveSecrets(spec, secrets, notes);
  takeNetworks(template, spec);
  const version = spec['version'] ?? template['kubernetesVersion'];
  const config = {
    version: '1.0' as const,
    operatingSystem: { users: [{ username: 'user' }] },
    kubernetes: cluster as Config['kubernetes'],
    image: { profile: 'emt' as const, ...(version === undefined ? {} : { k3sVersion: String(version) }) },
  };
  notes.push(
    'set operatingSystem.users: a cluster template has none',
    'add image.file: the path of the image',
  );
  return { config, notes };
}

function resolveSecrets(spec: Tree, secrets: ReadonlyMap<string, string>, notes: string[]): void {
  for (const file of Array.isArray(spec['files']) ? spec['files'].filter(isTree) : []) {
    const secret = descend(file, ['contentFrom', 'secret']);
    if (secret === undefined) continue;
    const name = `${String(secret['name'])}/${String(secret['key'])}`;
    const content = secrets.get(name);
    if (content === undefined) {
      notes.push(`${String(file['path'])} comes from the secret ${name}; give it with --secret ${name}=FILE`);
    } else {
      file['content'] = content;
      delete file['contentFrom'];
    }
  }
}

/** EMF keeps the address ranges beside the template and merges them when it makes a cluster. */
function takeNetworks(template: Tree, spec: Tree): void {
  const range = (kind: string) => {
    const blocks = descend(template, ['clusterNetwork', kind])?.['cidrBlocks'];
    return Array.isArray(blocks) && blocks.length > 0 ? blocks.join(',') : undefined;
  };
  const server = isTree(spec['serverConfig']) ? spec['serverConfig'] : {};
  const clusterCidr = server['clusterCidr'] ?? range('pods');
  const serviceCidr = server['serviceCidr'] ?? range('services');
  spec['serverConfig'] = {
    ...server,
    ...(clusterCidr === undefined ? {} : { clusterCidr }),
    ...(serviceCidr === undefined ? {} : { serviceCidr }),
  };
}

function descend(tree: Tree, path: string[]): Tree | undefined {
  let current: unknown = tree;
  for (const key of path) current = isTree(current) ? current[key] : undefined;
  return isTree(current) ? current : undefined;
}
