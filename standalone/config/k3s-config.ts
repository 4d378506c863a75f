import type { KthreesConfigSpec } from './kubernetes-schema.ts';

export type K3sConfig = Record<string, string | boolean | string[]>;

/** What an orchestrator adds to the template. */
export interface ClusterFacts {
  /** Address under which the API server is reached; becomes a name in its certificate. */
  endpoint?: string | undefined;
  token?: string | undefined;
}

/** The eight suites that cluster-api-k3s always allows, in its order. */
const REFERENCE_CIPHER_SUITES = [
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_RSA_WITH_AES_256_GCM_SHA384',
];

/**
 * /etc/rancher/k3s/config.yaml of the first server, as cluster-api-k3s writes it: alphabetical, empty keys left out,
 * two fixed arguments for the API server that nobody can switch off (cluster-api-k3s#176).
 */
export function referenceK3sConfig(spec: KthreesConfigSpec, facts: ClusterFacts): K3sConfig {
  const { serverConfig: server = {}, agentConfig: agent = {} } = spec;
  const provider = server.cloudProviderName ? [`cloud-provider=${server.cloudProviderName}`] : [];
  return compact({
    ...commonConfig(spec),
    'disable-cloud-controller': server.disableCloudController ?? true,
    'kube-apiserver-arg': [
      ...(server.kubeAPIServerArg ?? []),
      'anonymous-auth=true',
      `tls-cipher-suites=${REFERENCE_CIPHER_SUITES.join(',')}`,
    ],
    'kube-controller-manager-arg': [...(server.kubeControllerManagerArgs ?? []), ...provider],
    'kubelet-arg': [...(agent.kubeletArgs ?? []), ...provider],
    'tls-san': [...(server.tlsSan ?? []), ...(facts.endpoint ? [facts.endpoint] : [])],
    ...(facts.token ? { token: facts.token } : {}),
  });
}

/**
 * The same for a standalone node. Nothing is added that weakens what the template says: no anonymous access, no wider
 * cipher list. K3s' own cloud controller stays on unless the template switches it off, because without one a node with
 * an external provider keeps its "uninitialized" taint for ever.
 */
export function standaloneK3sConfig(spec: KthreesConfigSpec, clusterDns?: string): K3sConfig {
  const { serverConfig: server = {}, agentConfig: agent = {} } = spec;
  const provider = server.cloudProviderName ? [`cloud-provider=${server.cloudProviderName}`] : [];
  return compact({
    ...commonConfig(spec),
    'cluster-dns': server.clusterDNS ?? clusterDns ?? '',
    'disable-cloud-controller': server.disableCloudController ?? false,
    'kube-apiserver-arg': server.kubeAPIServerArg ?? [],
    'kube-controller-manager-arg': [...(server.kubeControllerManagerArgs ?? []), ...provider],
    'kubelet-arg': [...(agent.kubeletArgs ?? []), ...provider],
    'tls-san': server.tlsSan ?? [],
  });
}

function commonConfig({ serverConfig: server = {}, agentConfig: agent = {} }: KthreesConfigSpec): K3sConfig {
  return {
    'advertise-address': server.advertiseAddress ?? '',
    'advertise-port': server.advertisePort ?? '',
    'bind-address': server.bindAddress ?? '',
    'cluster-cidr': server.clusterCidr ?? '',
    'cluster-dns': server.clusterDNS ?? '',
    'cluster-domain': server.clusterDomain ?? '',
    'cluster-init': true,
    disable: server.disableComponents ?? [],
    'https-listen-port': server.httpsListenPort ?? '',
    'kube-proxy-arg': agent.kubeProxyArgs ?? [],
    'kube-scheduler-arg': server.kubeSchedulerArgs ?? [],
    'node-label': agent.nodeLabels ?? [],
    'node-name': agent.nodeName ?? '',
    'node-taint': agent.nodeTaints ?? [],
    'private-registry': agent.privateRegistry ?? '',
    'service-cidr': server.serviceCidr ?? '',
    'system-default-registry': server.systemDefaultRegistry ?? '',
  };
}

/** Without what is empty or false, keys in alphabetical order. */
function compact(config: K3sConfig): K3sConfig {
  const given = Object.entries(config).filter(
    ([, value]) => value !== '' && value !== false && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(given.sort(([a], [b]) => (a < b ? -1 : 1)));
}
