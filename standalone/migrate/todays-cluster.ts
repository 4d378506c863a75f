import { stringify } from 'yaml';
import type { Config } from '../config/schema.ts';

const CIPHERS = [
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
].join(',');

/** The K3s settings that today's standalone installer has fixed in its scripts, as a cluster template. */
export function todaysCluster(): NonNullable<Config['kubernetes']> {
  return {
    kind: 'KThreesControlPlaneTemplate',
    apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
    spec: {
      template: {
        spec: {
          kthreesConfigSpec: {
            files: [
              {
                // What the template's own fields cannot say.
                path: '/etc/rancher/k3s/config.yaml.d/10-standalone.yaml',
                content: stringify({ 'write-kubeconfig-mode': '0644', 'protect-kernel-defaults': true }),
              },
            ],
            agentConfig: {
              airGapped: true,
              kubeletArgs: [
                'topology-manager-policy=best-effort',
                'max-pods=250',
                `tls-cipher-suites=${CIPHERS}`,
              ],
            },
            serverConfig: {
              kubeAPIServerArg: ['feature-gates=PortForwardWebsockets=true', `tls-cipher-suites=${CIPHERS}`],
              clusterCidr: '10.42.0.0/16',
              serviceCidr: '10.43.0.0/16',
              clusterDNS: '10.43.0.10',
              disableComponents: ['traefik', 'servicelb'],
            },
          },
        },
      },
    },
  };
}
