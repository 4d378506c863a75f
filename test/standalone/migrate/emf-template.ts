/** A cluster template of the form EMF ships, with each peculiarity that its three default templates share. */
export function emfTemplate(name: string): Record<string, unknown> {
  const suites = 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384';
  const k3s = '/var/lib/rancher/k3s';
  return {
    name: `${name}-k3s`,
    version: 'v0.0.10',
    kubernetesVersion: 'v1.33.5+k3s1',
    description: 'for tests',
    controlplaneprovidertype: 'k3s',
    infraprovidertype: 'intel',
    clusterNetwork: { pods: { cidrBlocks: ['10.45.0.0/16'] }, services: { cidrBlocks: ['10.46.0.0/16'] } },
    'cluster-labels': {},
    clusterconfiguration: {
      kind: 'KThreesControlPlaneTemplate',
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      metadata: { labels: { cpumanager: 'true' } },
      spec: {
        template: {
          spec: {
            kthreesConfigSpec: {
              version: 'v1.33.5+k3s1',
              files: [
                {
                  path: `${k3s}/server/psa.yaml`,
                  contentFrom: { secret: { name: 'pod-security-admission-config', key: `${name}.yaml` } },
                },
                {
                  path: `${k3s}/agent/etc/containerd/config.toml.tmpl`,
                  content: '{{ template \\"base\\" . }}\n\n[plugins.kata]\n  runtime_type = \\"kata\\"\n',
                },
                {
                  path: '/etc/rancher/k3s/config.yaml.d/kube-apiserver-arg.yaml',
                  content: `kube-apiserver-arg:\n  - tls-cipher-suites=${suites}\n  - anonymous-auth=false\n`,
                },
                {
                  path: '/etc/rancher/k3s/config.yaml.d/etcd-arg.yaml',
                  content: `etcd-arg:\n  - cipher-suites=[${suites}]\n`,
                },
                {
                  path: '/etc/environment.d/50-k3s.conf',
                  permissions: '0644',
                  content: `PATH=\${PATH}:${k3s}/bin\nKUBECONFIG=/etc/rancher/k3s/k3s.yaml\n`,
                },
              ],
              preK3sCommands: [
                'mkdir -p /etc/systemd/system/k3s-server.service.d',
                "echo '[Service]\nEnvironmentFile=/etc/environment' > /etc/systemd/system/k3s-server.service.d/override.conf",
                `mkdir -p ${k3s}/bin`,
                `export INSTALL_K3S_BIN_DIR=${k3s}/bin`,
                `ln -sf ${k3s}/bin/k3s /usr/local/bin/kubectl`,
              ],
              postK3sCommands: [],
              agentConfig: {
                airGapped: true,
                kubeletArgs: [
                  'topology-manager-policy=best-effort',
                  'cpu-manager-policy=static',
                  'reserved-cpus=1',
                  'max-pods=250',
                  `tls-cipher-suites=${suites}`,
                  `pod-manifest-path=${k3s}/agent/pod-manifests`,
                ],
              },
              serverConfig: {
                kubeApiServerArg: [
                  `tls-cipher-suites=${suites}`,
                  `--admission-control-config-file=${k3s}/server/psa.yaml`,
                ],
                disableCloudController: false,
                disableComponents: ['metrics-server', 'traefik', 'etcd-proxy', 'servicelb'],
              },
            },
          },
        },
      },
    },
  };
}
