import { stringify } from 'yaml';
import type { KthreesConfigSpec } from '../config/kubernetes-schema.ts';

const DEFAULT_IMAGE = 'alpine/socat:1.8.0.0';

/**
 * The manifest that lets a management cluster reach a member's etcd through the pod network, with the facts of
 * cluster-api-k3s' own (pkg/etcd/etcd-proxy.yaml) in a layout of ours. Only parity mode writes
 * it: a standalone node has no management cluster, and an air-gapped one cannot pull the image.
 */
export function etcdProxyManifest({ serverConfig: server = {} }: KthreesConfigSpec): string {
  const registry = server.systemDefaultRegistry ? `${server.systemDefaultRegistry}/` : '';
  const labels = { app: 'etcd-proxy' };
  const toleration = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' });
  const manifest = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'etcd-proxy', namespace: 'kube-system', labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { 'node-role.kubernetes.io/etcd': 'true' },
          tolerations: [
            toleration('node-role.kubernetes.io/control-plane'),
            toleration('node-role.kubernetes.io/master'),
          ],
          containers: [
            {
              name: 'etcd-proxy',
              image: server.etcdProxyImage || `${registry}${DEFAULT_IMAGE}`,
              env: [{ name: 'HOSTIP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }],
              args: ['TCP4-LISTEN:2379,fork,reuseaddr', 'TCP4:$(HOSTIP):2379'],
              resources: { limits: { memory: '200Mi' }, requests: { cpu: '100m', memory: '200Mi' } },
              volumeMounts: [{ name: 'varlog', mountPath: '/var/log' }],
            },
          ],
          terminationGracePeriodSeconds: 30,
          volumes: [{ name: 'varlog', hostPath: { path: '/var/log' } }],
        },
      },
    },
  };
  return stringify(manifest, { aliasDuplicateObjects: false });
}
