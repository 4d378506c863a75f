import { stringify } from 'yaml';
import { standaloneK3sConfig } from '../config/k3s-config.ts';
import type { KthreesConfigSpec } from '../config/kubernetes-schema.ts';
import { derivedClusterDns } from '../config/rules/k3s-addresses.ts';
import { hasEscapedQuotes } from '../config/rules/k3s-files.ts';
import { INSTALL_SCRIPT } from '../config/rules/k3s-template.ts';

/** An entry of cloud-init's write_files. */
export interface CloudInitFile {
  path: string;
  content: string;
  owner?: string;
  permissions?: string;
  encoding?: string;
  append?: boolean;
}

export interface ClusterPart {
  files: CloudInitFile[];
  commands: string[];
}

const SENTINEL = 'mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete';

/** On a path that an immutable image keeps: there, cloud-init runs at every boot, and K3s must be installed once. */
const INSTALLED_MARKER = '/var/lib/rancher/k3s/kindling-installed';

/** The files and commands that make a standalone K3s server out of a cluster template. */
export function clusterPart(
  spec: KthreesConfigSpec,
  target: { isImmutable: boolean; hasArtifacts: boolean },
): ClusterPart {
  const files = (spec.files ?? []).map((file): CloudInitFile => {
    const { path = '', content = '', owner, permissions, encoding } = file;
    return {
      path,
      content: hasEscapedQuotes(file) ? content.replaceAll('\\"', '"') : content,
      ...(owner === undefined ? {} : { owner }),
      ...(permissions === undefined ? {} : { permissions }),
      ...(encoding === undefined ? {} : { encoding }),
    };
  });
  const config = standaloneK3sConfig(spec, derivedClusterDns(spec.serverConfig));
  files.push({
    path: '/etc/rancher/k3s/config.yaml',
    owner: 'root:root',
    permissions: '0640',
    content: stringify(config, { lineWidth: 0 }),
  });
  const commands = [
    ...(spec.preK3sCommands ?? []),
    ...(target.isImmutable ? IMMUTABLE_PREPARATION : []),
    ...(target.hasArtifacts ? ARTIFACTS : []),
    installCommand(target.isImmutable),
    ...(spec.postK3sCommands ?? []),
  ];
  return { files, commands };
}

/** /usr is sealed, so the program lives on the persistent partition; what the template exports has precedence. */
const IMMUTABLE_PREPARATION = [
  `export INSTALL_K3S_BIN_DIR="\${INSTALL_K3S_BIN_DIR:-/opt/rancher/k3s/bin}" INSTALL_K3S_BIN_DIR_READ_ONLY=true INSTALL_K3S_SYMLINK=skip`,
  'iptables -C INPUT -p tcp --dport 6443 -j ACCEPT 2>/dev/null || iptables -A INPUT -p tcp --dport 6443 -j ACCEPT',
];

/** The installer put the artifacts into /opt; K3s looks for its program and its images elsewhere. */
const ARTIFACTS = [
  `[ ! -e /opt/k3s ] || install -D -m 0755 /opt/k3s "\${INSTALL_K3S_BIN_DIR:-/usr/local/bin}/k3s"`,
  'for images in /opt/k3s-airgap-images*; do [ ! -e "$images" ] || install -D -t /var/lib/rancher/k3s/agent/images "$images"; done',
];

function installCommand(isImmutable: boolean): string {
  const install = `INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_EXEC='server' sh ${INSTALL_SCRIPT}`;
  if (!isImmutable) return `${install} && ${SENTINEL}`;
  const once = `[ -e ${INSTALLED_MARKER} ] || { ${install} && touch ${INSTALLED_MARKER}; }`;
  return `if ${once}; then ${SENTINEL}; fi`;
}
