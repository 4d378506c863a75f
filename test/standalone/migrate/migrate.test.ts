import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { renderMachine } from '../../../standalone/cloud-init/render-machine.ts';
import { validateConfig } from '../../../standalone/config/validate.ts';
import { evaluate } from '../../../standalone/migrate/arithmetic.ts';
import { migrateHybrid } from '../../../standalone/migrate/migrate-hybrid.ts';
import { migrateTemplate } from '../../../standalone/migrate/migrate-template.ts';
import type { Draft } from '../config/example.ts';
import { SSH_KEY } from '../config/example.ts';
import { emfTemplate } from './emf-template.ts';

const HYBRID = `# proxies
http_proxy="http://proxy.example.com:911"
https_proxy="http://proxy.example.com:912"
no_proxy="localhost,127.0.0.1,10.42.0.0/16,10.43.0.0/16,.svc,.cluster.local"
HTTP_PROXY="http://proxy.example.com:911"
HTTPS_PROXY=""
NO_PROXY=""
ssh_key="${SSH_KEY}"
user_name="user"     # mandatory
host_type="kubernetes"
static_ip="192.0.2.20"
subnet_mask="24"
default_gate_way="192.0.2.1"
dns_name_server="192.0.2.2,192.0.2.3"
lvm_size_ingb="20"
huge_page_config="12 * 1024"
USER_CUSTOM_NTP_SERVERS="time1.example.com, time2.example.com"
deploy_envmt="ven"
services:
  enable: [docker]
  disable: [apparmor]
write_files:
  - path: /etc/environment
    append: true
    content: |
      A=b
  - path: /etc/b
    permissions: 0600
    content: x
runcmd:
  - echo "one"
  - [ls, -l]
`;

describe('today’s hybrid file', () => {
  const { config, notes } = migrateHybrid(HYBRID);

  test('everything it can say has a place', () => {
    expect(config.operatingSystem).toEqual({
      hostType: 'kubernetes',
      users: [{ username: 'user' }],
      sshKey: SSH_KEY,
      proxy: {
        httpProxy: 'http://proxy.example.com:911',
        httpsProxy: 'http://proxy.example.com:912',
        noProxy: 'localhost,127.0.0.1,10.42.0.0/16,10.43.0.0/16,.svc,.cluster.local',
      },
      network: [{ address: '192.0.2.20/24', gateway: '192.0.2.1', dns: ['192.0.2.2', '192.0.2.3'] }],
      ntpServers: ['time1.example.com', 'time2.example.com'],
      lvmSizeGiB: 20,
      hugePages: 12288,
      services: { enable: ['docker'], disable: ['apparmor'] },
      writeFiles: [
        { path: '/etc/environment', append: true, content: 'A=b\n' },
        { path: '/etc/b', permissions: '0600', content: 'x' },
      ],
      runCommands: ['echo "one"', ['ls', '-l']],
    });
    expect(
      config.kubernetes?.spec?.template?.spec?.kthreesConfigSpec?.serverConfig?.disableComponents,
    ).toEqual(['traefik', 'servicelb']);
  });

  test('what changed in meaning is told', () => {
    expect(notes.join('\n')).toMatch(
      /deploy_envmt.*\n[\s\S]*password[\s\S]*static_ip was used only[\s\S]*append, owner[\s\S]*erases only the one/,
    );
  });

  test('the result is valid without a warning', () => {
    const { issues, isValid } = validateConfig(stringify(config), { strict: true });
    expect(issues.filter(({ severity }) => severity !== 'notice')).toEqual([]);
    expect(isValid).toBe(true);
  });

  test('a container host gets no cluster; a file without a user says what is missing', () => {
    expect(migrateHybrid('user_name="a"\nhost_type="container"\n').config.kubernetes).toBeUndefined();
    expect(migrateHybrid('host_type="container"\n').notes.join()).toContain('user_name is empty');
  });

  test('the file is read, never run', () => {
    const { config: read, notes: told } = migrateHybrid(
      'user_name="$(touch /tmp/x)"\nwhat is this\nodd_key=1\n',
    );
    expect(read.operatingSystem?.users).toEqual([{ username: '$(touch /tmp/x)' }]);
    expect(told.join('\n')).toMatch(/shell expansion[\s\S]*neither an assignment/);
    expect(told.join('\n')).toContain('unknown key odd_key');
  });

  test('the Hook-OS-era password is carried over as base64', () => {
    const { config: read } = migrateHybrid("user_name=a\npasswd='p=x'\n");
    expect(read.operatingSystem?.users?.[0]?.password).toBe(Buffer.from('p=x').toString('base64'));
  });

  test('broken YAML in the lower part is an error with its line', () => {
    expect(() => migrateHybrid('user_name=a\nservices: [\n')).toThrow(/line [23]/);
  });
});

test.each([
  ['12 * 1024', 12288],
  ['(2+3)*4 - 1', 19],
  ['7/2', 3],
  ['-(1)', -1],
  ['2 *', undefined],
  ['a', undefined],
  ['1/0', undefined],
  ['1 2', undefined],
  ['(1', undefined],
])('%s = %s', (text, value) => {
  expect(evaluate(text)).toBe(value);
});

describe.each(['baseline', 'privileged', 'restricted'])('EMF’s template %s', (name) => {
  const secrets = new Map([[`pod-security-admission-config/${name}.yaml`, 'kind: AdmissionConfiguration\n']]);
  const { config } = migrateTemplate(emfTemplate(name), secrets);
  const { issues, isValid, machines } = validateConfig(stringify(config), { allowNoLogin: true });

  test('is valid; its known faults are reported', () => {
    expect(isValid).toBe(true);
    expect(issues.map(({ code }) => code).sort()).toEqual([
      'K8S204',
      'K8S222',
      'K8S223',
      'K8S224',
      'K8S233',
      'K8S241',
      'K8S241',
      'OS103',
    ]);
    expect(issues.find(({ code }) => code === 'K8S223')?.message).toContain(
      'dropping: admission-control-config-file',
    );
  });

  test('arrives in cloud-init without loss', () => {
    const user = parse(renderMachine(machines[0]?.config ?? {}).userData, { version: '1.1' });
    const template: Draft = emfTemplate(name);
    const spec = template.clusterconfiguration.spec.template.spec.kthreesConfigSpec;
    const plain = ({ contentFrom, content = 'kind: AdmissionConfiguration\n', ...file }: Draft) => ({
      ...file,
      content: content.replaceAll('\\"', '"'),
    });
    expect(user.write_files.slice(0, 5)).toEqual(spec.files.map(plain));
    expect(user.runcmd.slice(0, 5)).toEqual(spec.preK3sCommands);
    expect(parse(user.write_files[5].content)).toEqual({
      'cluster-cidr': '10.45.0.0/16',
      'cluster-dns': '10.46.0.10',
      'cluster-init': true,
      disable: spec.serverConfig.disableComponents,
      'kube-apiserver-arg': spec.serverConfig.kubeApiServerArg,
      'kubelet-arg': spec.agentConfig.kubeletArgs,
      'service-cidr': '10.46.0.0/16',
    });
  });

  test('without the secret, validate says what to do', () => {
    const incomplete = migrateTemplate(emfTemplate(name), new Map());
    expect(incomplete.notes[0]).toContain(`--secret pod-security-admission-config/${name}.yaml=FILE`);
    expect(validateConfig(stringify(incomplete.config)).issues.map(({ code }) => code)).toContain('K8S218');
  });
});

test('a template of another kind is refused', () => {
  expect(() => migrateTemplate({ kind: 'KubeadmControlPlaneTemplate' }, new Map())).toThrow(/not K3s/);
});

describe('what is no old config is refused', () => {
  test.each([
    ['nothing', ''],
    ['comments only', '# a file\n\n'],
    ['any text', 'Dear all,\nplease find attached the config.\n'],
    ['settings of something else', 'PATH=/usr/bin\nexport LANG=C\n'],
    ['bytes', '\u0000\u0001\u0002'],
  ])('%s', (_what, text) => {
    expect(() => migrateHybrid(text)).toThrow(/this is no config file of the standalone installer/);
  });

  test('and a config of the new format, which needs no migration', () => {
    const { config } = migrateHybrid(HYBRID);
    expect(() => migrateHybrid(stringify(config))).toThrow(/new format already/);
  });
});
