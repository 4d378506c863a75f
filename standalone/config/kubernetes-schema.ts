import { z } from 'zod';

const text = (description: string) => z.string().meta({ description }).optional();
const texts = (description: string) => z.array(z.string()).meta({ description }).optional();
const flag = (description: string) => z.boolean().meta({ description }).optional();

const file = z
  .strictObject({
    path: text('Absolute path below /etc or /var.'),
    owner: text('user or user:group; root:root if left out.'),
    permissions: text('Octal, in quotes: "0640"; 0644 if left out.'),
    encoding: z
      .enum(['base64', 'gzip', 'gzip+base64'])
      .meta({
        description: 'How content is encoded; plain text if left out. Plain gzip cannot stand in YAML.',
      })
      .optional(),
    content: text('The text of the file.'),
    contentFrom: z
      .looseObject({})
      .meta({ description: 'A secret of an orchestrator. Not possible standalone.', deprecated: true })
      .optional(),
  })
  .meta({ required: ['path', 'content'] });

const serverConfig = z.strictObject({
  kubeAPIServerArg: texts('Arguments of the API server.'),
  kubeControllerManagerArgs: texts('Arguments of the controller manager.'),
  kubeSchedulerArgs: texts('Arguments of the scheduler.'),
  tlsSan: texts('Further names and addresses in the API server’s certificate.'),
  bindAddress: text('Address K3s listens on.'),
  httpsListenPort: text('Port of the API server, 6443.'),
  advertiseAddress: text('Address the API server tells the cluster.'),
  advertisePort: text('Port the API server tells the cluster.'),
  clusterCidr: text('Addresses of pods, 10.42.0.0/16; two, with a comma, for dual stack.'),
  serviceCidr: text('Addresses of services, 10.43.0.0/16.'),
  clusterDNS: text('Address of the cluster’s DNS; the tenth of serviceCidr if left out.'),
  clusterDomain: text('Domain of the cluster, cluster.local.'),
  disableComponents: texts(
    'Components of K3s to leave out: coredns, servicelb, traefik, local-storage, metrics-server.',
  ),
  disableExternalCloudProvider: flag('Without effect; replaced by disableCloudController.'),
  disableCloudController: flag('Leaves out the cloud controller of K3s.'),
  cloudProviderName: text('Cloud provider for kubelet and controller manager.'),
  systemDefaultRegistry: text('Registry of K3s’ own images.'),
  etcdProxyImage: text('Image of the etcd proxy (parity mode only).'),
});

const agentConfig = z.strictObject({
  nodeLabels: texts('key=value labels of the node.'),
  nodeTaints: texts('key=value:Effect taints of the node.'),
  privateRegistry: text('Path of registries.yaml.'),
  kubeletArgs: texts('Arguments of the kubelet.'),
  kubeProxyArgs: texts('Arguments of kube-proxy.'),
  nodeName: text('Name of the node; its host name if left out.'),
  airGapped: flag('Always true.'),
  airGappedInstallScriptPath: text('Always /opt/install.sh.'),
});

/** `kthreesConfigSpec` of cluster-api-k3s v1beta2, field by field (no users, ntp, mounts: those are operatingSystem). */
export const kthreesConfigSpec = z.strictObject({
  version: text('The K3s version in the image; can be left out.'),
  files: z.array(file).meta({ description: 'Further files on the node.' }).optional(),
  preK3sCommands: texts('Shell commands before K3s is installed.'),
  postK3sCommands: texts('Shell commands after K3s is installed.'),
  serverConfig: serverConfig.optional(),
  agentConfig: agentConfig.optional(),
});

export type KthreesConfigSpec = z.infer<typeof kthreesConfigSpec>;
export type ServerConfig = z.infer<typeof serverConfig>;

const ignored = z
  .unknown()
  .meta({ description: 'Ignored on a standalone node.', deprecated: true })
  .optional();

export const kubernetesSection = z
  .strictObject({
    kind: z.literal('KThreesControlPlaneTemplate').optional(),
    apiVersion: z.literal('controlplane.cluster.x-k8s.io/v1beta2').optional(),
    metadata: z
      .looseObject({})
      .meta({ description: 'Name and labels; ignored on a standalone node.' })
      .optional(),
    spec: z
      .strictObject({
        template: z
          .strictObject({
            metadata: ignored,
            spec: z
              .strictObject({
                kthreesConfigSpec: kthreesConfigSpec.optional(),
                rolloutAfter: ignored,
                machineTemplate: ignored,
                remediationStrategy: ignored,
                replicas: ignored,
              })
              .optional(),
          })
          .optional(),
      })
      .optional(),
  })
  .meta({
    description:
      'A KThreesControlPlaneTemplate of cluster-api-k3s: K3s as EMF’s cluster templates describe it.',
    required: ['kind', 'apiVersion', 'spec'],
  });
