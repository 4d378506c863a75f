import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeClusterCertificates } from '../../../standalone/bootstrap/cluster-certificates.ts';
import { renderReference } from '../../../standalone/bootstrap/reference-cloud-init.ts';

const SUITES = [
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_256_GCM_SHA384',
].join(',');

const SPEC = {
  files: [{ path: '/etc/hello', content: 'hi' }],
  preK3sCommands: [
    "echo 'a b'",
    "printf 'x\\n'",
    "echo '[Service]\nEnvironmentFile=/etc/environment' > /etc/x",
  ],
  postK3sCommands: ['echo done'],
  serverConfig: { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', disableComponents: ['traefik'] },
  agentConfig: { airGapped: true, kubeletArgs: ['max-pods=250'] },
};

// The golden example of cluster-api-k3s' templates: air-gapped first server, without certificates and etcd proxy.
const GOLDEN = `## template: jinja
#cloud-config

write_files:
-   path: /etc/hello
    content: |
      hi
-   path: /etc/rancher/k3s/config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      cluster-cidr: 10.42.0.0/16
      cluster-init: true
      disable:
      - traefik
      disable-cloud-controller: true
      kube-apiserver-arg:
      - anonymous-auth=true
      - tls-cipher-suites=${SUITES}
      kubelet-arg:
      - max-pods=250
      service-cidr: 10.43.0.0/16
      tls-san:
      - 192.0.2.10
      token: 00112233445566778899aabbccddeeff
${' '.repeat(6)}
runcmd:
  - "echo 'a b'"
  - "printf 'x\\\\n'"
  - "echo '[Service]\\nEnvironmentFile=/etc/environment' > /etc/x"
  -  INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_EXEC='server' sh /opt/install.sh  && mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete
  - "echo done"
`;

const FACTS = { endpoint: '192.0.2.10', token: '00112233445566778899aabbccddeeff' };

test('the golden example comes out byte for byte', () => {
  expect(renderReference({ spec: SPEC, ...FACTS })).toBe(GOLDEN);
});

test('it parses back to the template: files in order, commands unchanged', () => {
  const document = parse(renderReference({ spec: SPEC, ...FACTS }));
  expect(document.write_files[0]).toEqual({ path: '/etc/hello', content: 'hi\n' });
  expect(document.runcmd.slice(0, 3)).toEqual(SPEC.preK3sCommands);
});

test('encoding, owner and permissions stand in the reference’s order and quotes', () => {
  const file = {
    path: '/etc/a',
    content: 'aGk=',
    encoding: 'base64' as const,
    owner: 'root:adm',
    permissions: '0600',
  };
  expect(renderReference({ spec: { files: [file] }, ...FACTS })).toContain(
    `-   path: /etc/a\n    encoding: "base64"\n    owner: root:adm\n    permissions: '0600'\n    content: |\n      aGk=\n`,
  );
});

test('without airGapped it downloads the version asked for', () => {
  const spec = { version: 'v1.33.0+k3s1' };
  expect(parse(renderReference({ spec, ...FACTS })).runcmd[0]).toMatch(
    /^curl -sfL https:\/\/get.k3s.io \| INSTALL_K3S_VERSION=v1.33.0\+k3s1 sh -s - server {2}&& mkdir/,
  );
});

test('order of files: certificates, the template’s, etcd proxy, config.yaml last', async () => {
  const certificates = await makeClusterCertificates(new Date('2026-01-01'));
  const document = parse(renderReference({ spec: SPEC, ...FACTS, certificates, withEtcdProxy: true }));
  const tls = '/var/lib/rancher/k3s/server/tls';
  expect(document.write_files.map(({ path }: { path: string }) => path)).toEqual([
    ...[`${tls}/server-ca.crt`, `${tls}/server-ca.key`, `${tls}/client-ca.crt`, `${tls}/client-ca.key`],
    ...[`${tls}/etcd/server-ca.crt`, `${tls}/etcd/server-ca.key`],
    '/etc/hello',
    '/var/lib/rancher/k3s/server/manifests/etcd-proxy.yaml',
    '/etc/rancher/k3s/config.yaml',
  ]);
  expect(
    document.write_files.map(({ permissions }: { permissions: string }) => permissions).slice(0, 2),
  ).toEqual(['0640', '0600']);
  const certificate = new X509Certificate(certificates[0]?.content ?? '');
  expect(certificate.subject).toBe('CN=kubernetes');
  expect(certificate.ca).toBe(true);
  for (const { path, content } of certificates) {
    const kind = path.endsWith('.key') ? 'RSA PRIVATE KEY' : 'CERTIFICATE';
    expect(content).toMatch(new RegExp(`^-----BEGIN ${kind}-----\\n[^-]+-----END ${kind}-----\\n$`));
  }
  const { spec } = parse(document.write_files.at(-2).content).spec.template;
  expect(spec.tolerations.map(({ key }: { key: string }) => key)).toEqual([
    'node-role.kubernetes.io/control-plane',
    'node-role.kubernetes.io/master',
  ]);
  expect(spec.containers[0]).toMatchObject({
    image: 'alpine/socat:1.8.0.0',
    args: ['TCP4-LISTEN:2379,fork,reuseaddr', 'TCP4:$(HOSTIP):2379'],
  });
}, 60_000); // three RSA key pairs

test('a cloud provider goes to kubelet and controller manager; false leaves disable-cloud-controller out', () => {
  const serverConfig = { cloudProviderName: 'external', disableCloudController: false };
  const document = parse(renderReference({ spec: { serverConfig }, ...FACTS }));
  const config = parse(document.write_files[0].content);
  expect(config['kubelet-arg']).toEqual(['cloud-provider=external']);
  expect(config['kube-controller-manager-arg']).toEqual(['cloud-provider=external']);
  expect(config).not.toHaveProperty('disable-cloud-controller');
});
