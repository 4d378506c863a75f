import { stringify } from 'yaml';
import { quoteText } from '../../formats/go-text.ts';
import { type ClusterFacts, referenceK3sConfig } from '../config/k3s-config.ts';
import type { KthreesConfigSpec } from '../config/kubernetes-schema.ts';
import { INSTALL_SCRIPT } from '../config/rules/k3s-template.ts';
import { etcdProxyManifest } from './etcd-proxy.ts';

export interface ReferenceInput extends ClusterFacts {
  spec: KthreesConfigSpec;
  /** In the order in which they are written; none for a cluster that makes its own. */
  certificates?: readonly ReferenceFile[];
  withEtcdProxy?: boolean;
}

export interface ReferenceFile {
  path: string;
  encoding?: string | undefined;
  owner?: string | undefined;
  permissions?: string | undefined;
  content: string;
}

const SENTINEL = 'mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete';

/**
 * The bootstrap data that cluster-api-k3s would make for the first server, in its form: its Jinja header, its block scalars,
 * its order of files (certificates, the template's files, etcd proxy, config.yaml last). Not in every byte: the manifest of the
 * etcd proxy is laid out by our own writer, and so is config.yaml where a text needs quotes or is long.
 */
export function renderReference(input: ReferenceInput): string {
  const { spec } = input;
  const files: ReferenceFile[] = [
    ...(input.certificates ?? []),
    ...(spec.files ?? []).map((file) => ({ ...file, path: file.path ?? '', content: file.content ?? '' })),
    ...(input.withEtcdProxy ? [etcdProxyFile(spec)] : []),
    {
      path: '/etc/rancher/k3s/config.yaml',
      owner: 'root:root',
      permissions: '0640',
      content: stringify(referenceK3sConfig(spec, input), { indentSeq: false, lineWidth: 0 }),
    },
  ];
  const commands = [
    ...(spec.preK3sCommands ?? []).map(quoteText),
    `${installCommand(spec)} && ${SENTINEL}`,
    ...(spec.postK3sCommands ?? []).map(quoteText),
  ];
  return [
    '## template: jinja',
    '#cloud-config',
    '',
    'write_files:',
    ...files.flatMap(fileLines),
    'runcmd:',
    ...commands.map((command) => `  - ${command}`),
    '',
  ].join('\n');
}

/** The template's conditions leave an extra space before the command and before "&&". */
function installCommand({ version, agentConfig: agent }: KthreesConfigSpec): string {
  if (agent?.airGapped !== true) {
    return ` curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION=${version ?? ''} sh -s - server `;
  }
  const script = agent.airGappedInstallScriptPath ?? INSTALL_SCRIPT;
  return ` INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_EXEC='server' sh ${script} `;
}

function etcdProxyFile(spec: KthreesConfigSpec): ReferenceFile {
  return {
    path: '/var/lib/rancher/k3s/server/manifests/etcd-proxy.yaml',
    owner: 'root:root',
    permissions: '0640',
    content: etcdProxyManifest(spec),
  };
}

function fileLines({ path, encoding, owner, permissions, content }: ReferenceFile): string[] {
  return [
    `-   path: ${path}`,
    ...(encoding ? [`    encoding: "${encoding}"`] : []),
    ...(owner ? [`    owner: ${owner}`] : []),
    ...(permissions ? [`    permissions: '${permissions}'`] : []),
    '    content: |',
    ...content.split('\n').map((line) => `      ${line}`),
  ];
}
