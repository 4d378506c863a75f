import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RULES, type RuleCode } from '../../../standalone/config/rule-table.ts';
import type { ValidationOptions } from '../../../standalone/config/validate.ts';
import {
  clusterConfig,
  type Draft,
  findingsOf,
  SPEC_PATH,
  SSH_KEY,
  systemConfig,
  validConfig,
} from './example.ts';

interface Case {
  code: RuleCode;
  /** Passes without this code. */
  good: Draft[];
  /** Breaks the rule: the configuration, the path that is named, and words of the message. */
  bad: [config: Draft, path: string, message: RegExp][];
  severity?: 'error' | 'warning' | 'notice';
  options?: ValidationOptions;
}

const file = (change: Draft) =>
  clusterConfig((spec) => {
    spec.files = [{ path: '/etc/a', content: 'x', ...change }];
  });
const users = (...list: Draft[]) =>
  systemConfig((os) => {
    os.users = list;
  });
const password = (text: string) => users({ username: 'edge', password: text });
const base64 = (text: string) => Buffer.from(text).toString('base64');
const server = (change: Draft) =>
  clusterConfig((spec) => {
    spec.serverConfig = change;
  });
const agent = (change: Draft) =>
  clusterConfig((spec) => {
    spec.agentConfig = change;
  });
const os = (change: Draft) => systemConfig((system) => Object.assign(system, change));
const card = (...cards: Draft[]) => os({ network: cards });
const disk = (selector: Draft) => ({ ...validConfig(), disk: selector });
const image = (change: Draft) => ({ ...validConfig(), image: change });
const nodes = (...entries: Draft[]) => ({ ...validConfig(), nodes: entries });
const FILES = `${SPEC_PATH}.files`;
const HASH = `$6$saltsalt$${'a'.repeat(86)}`;

const CASES: Case[] = [
  {
    code: 'CFG001',
    good: [validConfig()],
    bad: [
      ['version: 1.0\noperatingSystem:\n\tusers: []\n', '', /indented by a tab/],
      ['version: 1.0\nversion: 1.0\n', '', /“version” is there twice/],
      ['version: 1.0\n---\nversion: 1.0\n', '', /more than one document/],
      ['version: [1.0\n', '', /not valid YAML/],
      ['', '', /empty/],
    ],
  },
  {
    code: 'CFG002',
    good: [validConfig()],
    bad: [
      [{ ...validConfig(), operatingsystem: {} }, 'operatingsystem', /did you mean "operatingSystem"/],
      ['- a\n', '', /must be a map/],
      [os({ runcmd: ['x'] }), 'operatingSystem.runcmd', /did you mean "runCommands"/],
      [os({ prxy: {} }), 'operatingSystem.prxy', /did you mean "proxy"/],
    ],
  },
  {
    code: 'CFG003',
    good: ['1.0', 1, '"1.0"'].map(
      (version) => `version: ${version}\noperatingSystem: {users: [{username: a}]}\n`,
    ),
    bad: [
      [{ ...validConfig(), version: '2.0' }, 'version', /must be 1.0/],
      [{ operatingSystem: validConfig().operatingSystem }, '', /must be 1.0/],
    ],
  },
  { code: 'CFG004', good: [validConfig()], bad: [['user_name="user"\n', '', /migrate/]] },
  {
    code: 'CFG005',
    good: [{ ...validConfig(), install: { confirm: 'key' } }],
    bad: [
      [
        { ...validConfig(), install: { confirm: 'ky' } },
        'install.confirm',
        /one of countdown, key, none.*did you mean "key"/,
      ],
      [{ ...validConfig(), install: { countdownSeconds: -1 } }, 'install.countdownSeconds', /whole number/],
    ],
  },
  {
    code: 'CFG006',
    severity: 'warning',
    good: ['version: 1.0\na: "x\n  y"\n'],
    bad: [['version: 1.0\na:\n    - "x\ny"\n', '', /must be indented/]],
  },
  {
    code: 'CFG007',
    good: [nodes({ match: { serial: 'A1' } }, { match: { mac: '52:54:00:00:00:01' } }, { match: 'default' })],
    bad: [
      [nodes({}), 'nodes[0].match', /match is missing/],
      [nodes({ match: {} }), 'nodes[0].match', /match is empty/],
      [nodes({ match: 'all' }), 'nodes[0].match', /expected "default" or a map/],
      [nodes({ match: { uuid: '12' } }), 'nodes[0].match.uuid', /not a UUID/],
      [nodes({ match: { mac: '12' } }), 'nodes[0].match.mac', /not a MAC/],
      [nodes({ match: { serial: 'Default string' } }), 'nodes[0].match.serial', /placeholder/],
      [nodes({ match: { serial: 'A1' } }, { match: { serial: 'a1' } }), 'nodes[1].match.serial', /already/],
      [nodes({ match: 'default' }, { match: 'default' }), 'nodes[1].match', /already/],
    ],
  },
  {
    code: 'OS101',
    good: [users({ username: 'a' }, { username: '_b-1' }), users({ username: 'a'.repeat(32) })],
    bad: [
      [{ version: '1.0' }, 'operatingSystem', /missing/],
      [users(), 'operatingSystem.users', /at least one/],
      [users({}), 'operatingSystem.users[0]', /username is missing/],
      [users({ username: 'Root' }), 'operatingSystem.users[0].username', /not a user name/],
      [users({ username: 'a'.repeat(33) }), 'operatingSystem.users[0].username', /not a user name/],
      [users({ username: 7 }), 'operatingSystem.users[0].username', /expected string/],
      [users({ username: 'a' }, { username: 'a' }), 'operatingSystem.users[1].username', /twice/],
    ],
  },
  {
    code: 'OS102',
    good: [
      password(base64('password\n')),
      password(HASH),
      password(`$y$j9T$${'s'.repeat(22)}$${'h'.repeat(43)}`),
      password(`$2b$12$${'b'.repeat(53)}`),
    ],
    bad: [
      [password('not base64!'), 'operatingSystem.users[0].password', /must be base64 or a crypt/],
      [password('$6$salt$short'), 'operatingSystem.users[0].password', /must be base64 or a crypt/],
      [password(base64('\n')), 'operatingSystem.users[0].password', /empty/],
      [password(base64('a\nb')), 'operatingSystem.users[0].password', /line break/],
      [password(base64('a\0b')), 'operatingSystem.users[0].password', /NUL/],
      [password('/w=='), 'operatingSystem.users[0].password', /not UTF-8/],
    ],
  },
  {
    code: 'OS103',
    good: [
      validConfig(),
      os({ users: [{ username: 'a' }], sshKey: SSH_KEY }),
      users({ username: 'a', sshKeys: [SSH_KEY] }),
    ],
    bad: [[users({ username: 'a' }), 'operatingSystem.users', /no way to log in/]],
  },
  {
    code: 'OS104',
    good: [
      os({ proxy: { httpProxy: 'http://proxy.example.com:911', httpsProxy: 'http://[2001:db8::1]:8080' } }),
      os({ proxy: { httpProxy: '' } }),
    ],
    bad: [
      [os({ proxy: { httpProxy: 'proxy.example.com:911' } }), 'operatingSystem.proxy.httpProxy', /not a URL/],
      [os({ proxy: { httpsProxy: 'ftp://proxy' } }), 'operatingSystem.proxy.httpsProxy', /not a URL/],
      [os({ proxy: { httpProxy: 'http://pro xy' } }), 'operatingSystem.proxy.httpProxy', /not a URL/],
      [os({ proxy: { httpProxy: 'http://me:pw@proxy' } }), 'operatingSystem.proxy.httpProxy', /in clear/],
      [os({ proxy: 'http://p' }), 'operatingSystem.proxy', /expected a map/],
    ],
  },
  {
    code: 'OS105',
    severity: 'warning',
    good: [
      os({ proxy: { noProxy: 'localhost,.example.com,10.0.0.0/8,192.0.2.1,*.svc' } }),
      clusterConfig((_, config) => {
        const noProxy = '.svc,.cluster.local,127.0.0.0/8,10.42.0.0/16,10.43.0.0/16';
        config.operatingSystem.proxy = { httpProxy: 'http://p', noProxy };
      }),
    ],
    bad: [
      [os({ proxy: { noProxy: 'a b' } }), 'operatingSystem.proxy.noProxy', /"a b" is not a host/],
      [
        clusterConfig((_, config) => {
          config.operatingSystem.proxy = { httpProxy: 'http://p', noProxy: '10.42.0.0/16' };
        }),
        'operatingSystem.proxy.noProxy',
        /add .svc,.cluster.local,127.0.0.1,10.43.0.0\/16/,
      ],
    ],
  },
  {
    code: 'OS106',
    good: [os({ sshKey: SSH_KEY }), os({ sshKey: '' })],
    bad: [
      [os({ sshKey: '-----BEGIN OPENSSH PRIVATE KEY-----' }), 'operatingSystem.sshKey', /private key/],
      [os({ sshKey: 'AAAA' }), 'operatingSystem.sshKey', /not a key type/],
      [
        os({ sshKey: SSH_KEY.replace('ssh-ed25519', 'ssh-rsa') }),
        'operatingSystem.sshKey',
        /not a key of type ssh-rsa/,
      ],
      [os({ sshKey: SSH_KEY.slice(0, 30) }), 'operatingSystem.sshKey', /cut off/],
      [users({ username: 'a', sshKeys: ['x'] }), 'operatingSystem.users[0].sshKeys[0]', /not a key type/],
    ],
  },
  {
    code: 'OS107',
    good: [os({ ntpServers: ['time.example.com', '192.0.2.1'] })],
    bad: [[os({ ntpServers: ['a', 'b c'] }), 'operatingSystem.ntpServers[1]', /not a host/]],
  },
  {
    code: 'OS108',
    good: [os({ lvmSizeGiB: 0, hugePages: 1024 })],
    bad: [
      [os({ lvmSizeGiB: -1 }), 'operatingSystem.lvmSizeGiB', /whole number/],
      [os({ hugePages: 1.5 }), 'operatingSystem.hugePages', /whole number/],
      [os({ hugePages: '12 * 1024' }), 'operatingSystem.hugePages', /expected number/],
    ],
  },
  {
    code: 'OS109',
    good: [os({ services: { enable: ['ssh', 'getty@tty1.service'], disable: ['x.timer'] } })],
    bad: [
      [os({ services: { enable: ['a b'] } }), 'operatingSystem.services.enable[0]', /not a unit/],
      [
        os({ services: { enable: ['a'], disable: ['a'] } }),
        'operatingSystem.services.disable[0]',
        /enabled as well/,
      ],
    ],
  },
  {
    code: 'OS110',
    good: [os({ writeFiles: [{ path: '/opt/a', content: 'x', permissions: '0600', owner: 'root' }] })],
    bad: [
      [os({ writeFiles: [{ content: 'x' }] }), 'operatingSystem.writeFiles[0]', /path is missing/],
      [
        os({ writeFiles: [{ path: 'a', content: 'x' }] }),
        'operatingSystem.writeFiles[0].path',
        /absolute clean/,
      ],
      [os({ writeFiles: [{ path: '/a' }] }), 'operatingSystem.writeFiles[0]', /content is missing/],
      [
        os({ writeFiles: [{ path: '/a', content: 'x', permissions: 644 }] }),
        'operatingSystem.writeFiles[0].permissions',
        /in quotes/,
      ],
      [
        os({ writeFiles: [{ path: '/a', content: 'x', permissions: 'rw' }] }),
        'operatingSystem.writeFiles[0].permissions',
        /octal/,
      ],
      [
        os({ writeFiles: [{ path: '/a', content: 'x', owner: 'a b' }] }),
        'operatingSystem.writeFiles[0].owner',
        /user:group/,
      ],
      [
        os({ writeFiles: [{ path: '/a', content: '!', encoding: 'base64' }] }),
        'operatingSystem.writeFiles[0].content',
        /not base64/,
      ],
      [
        os({
          writeFiles: [
            { path: '/a', content: 'x' },
            { path: '/a', content: 'y' },
          ],
        }),
        'operatingSystem.writeFiles[1].path',
        /twice/,
      ],
    ],
  },
  {
    code: 'OS111',
    good: [os({ runCommands: ['echo a', ['echo', 'b']] })],
    bad: [
      [os({ runCommands: [' '] }), 'operatingSystem.runCommands[0]', /empty/],
      [os({ runCommands: ['a', []] }), 'operatingSystem.runCommands[1]', /empty/],
      [os({ runCommands: [{ a: 1 }] }), 'operatingSystem.runCommands[0]', /expected string or a list/],
    ],
  },
  {
    code: 'OS112',
    good: [os({ hostname: 'edge-01.example.com', timezone: 'Asia/Kolkata' })],
    bad: [
      [os({ hostname: 'edge_01' }), 'operatingSystem.hostname', /not a host name/],
      [os({ timezone: 'Asia Kolkata' }), 'operatingSystem.timezone', /not a time zone/],
    ],
  },
  {
    code: 'OS113',
    severity: 'warning',
    good: [clusterConfig(), os({ hostType: 'container' })],
    bad: [
      [
        clusterConfig((_, config) => {
          config.operatingSystem.hostType = 'container';
        }),
        'operatingSystem.hostType',
        /section is ignored/,
      ],
    ],
  },
  {
    code: 'OS114',
    severity: 'notice',
    good: [os({ lvmSizeGiB: 0 }), { ...os({ lvmSizeGiB: 20 }), image: { profile: 'emt' } }],
    bad: [[os({ lvmSizeGiB: 20 }), 'operatingSystem.lvmSizeGiB', /must have lvm2/]],
  },
  {
    code: 'OS115',
    good: [password(base64('12345678')), password(HASH)],
    bad: [[password(base64('1234567')), 'operatingSystem.users[0].password', /fewer than 8/]],
  },
  {
    code: 'K8S201',
    good: [clusterConfig()],
    bad: [
      [
        clusterConfig((_, { kubernetes }) => Object.assign(kubernetes, { kind: 'KThreesControlPlane' })),
        'kubernetes.kind',
        /only "KThreesControlPlaneTemplate"/,
      ],
      [clusterConfig((_, { kubernetes }) => delete kubernetes.kind), 'kubernetes.kind', /missing/],
    ],
  },
  {
    code: 'K8S202',
    good: [clusterConfig()],
    bad: [
      [
        clusterConfig((_, { kubernetes }) =>
          Object.assign(kubernetes, { apiVersion: 'controlplane.cluster.x-k8s.io/v1beta1' }),
        ),
        'kubernetes.apiVersion',
        /convert it/,
      ],
      [
        clusterConfig((_, { kubernetes }) => delete kubernetes.apiVersion),
        'kubernetes.apiVersion',
        /missing/,
      ],
    ],
  },
  {
    code: 'K8S203',
    good: [clusterConfig()],
    bad: [
      [
        clusterConfig((_, { kubernetes }) => Object.assign(kubernetes.spec.template, { spec: {} })),
        SPEC_PATH,
        /missing/,
      ],
      [
        clusterConfig((_, { kubernetes }) =>
          Object.assign(kubernetes.spec.template, { spec: { serverConfig: {} } }),
        ),
        'kubernetes.spec.template.spec',
        /legacy shape: serverConfig/,
      ],
    ],
  },
  {
    code: 'K8S204',
    good: [server({ kubeAPIServerArg: ['a=b'] })],
    bad: [
      [
        clusterConfig((spec) => Object.assign(spec, { postK3sCommand: [] })),
        `${SPEC_PATH}.postK3sCommand`,
        /did you mean "postK3sCommands"/,
      ],
      [
        server({ kubeApiServerArg: ['a=b'] }),
        `${SPEC_PATH}.serverConfig.kubeApiServerArg`,
        /spelled "kubeAPIServerArg"; accepted/,
      ],
    ],
  },
  {
    code: 'K8S205',
    good: [server({ httpsListenPort: '6443', kubeSchedulerArgs: null })],
    bad: [
      [server({ httpsListenPort: 6443 }), `${SPEC_PATH}.serverConfig.httpsListenPort`, /expected string/],
      [
        server({ kubeSchedulerArgs: 'a=b' }),
        `${SPEC_PATH}.serverConfig.kubeSchedulerArgs`,
        /expected a list/,
      ],
      [
        server({ disableCloudController: 'no' }),
        `${SPEC_PATH}.serverConfig.disableCloudController`,
        /expected boolean/,
      ],
    ],
  },
  {
    code: 'K8S206',
    options: { k3sVersion: 'v1.33.0+k3s1' },
    good: [clusterConfig((spec) => Object.assign(spec, { version: 'v1.33.0+k3s1' })), clusterConfig()],
    bad: [
      [
        clusterConfig((spec) => Object.assign(spec, { version: 'v1.32.4+k3s1' })),
        `${SPEC_PATH}.version`,
        /^not updatable: image has v1.33.0\+k3s1, config asks v1.32.4\+k3s1$/,
      ],
    ],
  },
  {
    code: 'K8S207',
    good: ['v1.33.0+k3s1', 'v1.33.0-rc1+k3s2'].map((version) =>
      clusterConfig((spec) => Object.assign(spec, { version })),
    ),
    bad: [
      [
        clusterConfig((spec) => Object.assign(spec, { version: '1.33' })),
        `${SPEC_PATH}.version`,
        /not a K3s version/,
      ],
    ],
  },
  {
    code: 'K8S208',
    good: [agent({ airGapped: true }), agent({})],
    bad: [[agent({ airGapped: false }), `${SPEC_PATH}.agentConfig.airGapped`, /not updatable, always true/]],
  },
  {
    code: 'K8S209',
    good: [agent({ airGappedInstallScriptPath: '/opt/install.sh' })],
    bad: [
      [
        agent({ airGappedInstallScriptPath: '/tmp/x' }),
        `${SPEC_PATH}.agentConfig.airGappedInstallScriptPath`,
        /always "\/opt\/install.sh"/,
      ],
    ],
  },
  {
    code: 'K8S210',
    severity: 'warning',
    good: [clusterConfig((_, { kubernetes }) => Object.assign(kubernetes, { metadata: { name: 'a' } }))],
    bad: [
      [
        clusterConfig((_, { kubernetes }) => Object.assign(kubernetes.spec.template.spec, { replicas: 3 })),
        'kubernetes.spec.template.spec.replicas',
        /ignored/,
      ],
      [
        clusterConfig((_, { kubernetes }) => Object.assign(kubernetes, { metadata: { annotations: {} } })),
        'kubernetes.metadata.annotations',
        /ignored/,
      ],
    ],
  },
  {
    code: 'K8S211',
    good: [file({})],
    bad: [
      [
        clusterConfig((spec) => Object.assign(spec, { files: { path: '/etc/a', content: 'x' } })),
        FILES,
        /expected a list of files/,
      ],
      [clusterConfig((spec) => Object.assign(spec, { files: 'x' })), FILES, /expected a list of files/],
    ],
  },
  {
    code: 'K8S212',
    good: [file({})],
    bad: [
      ...['etc/a', '/etc/../a', '/etc//a', '/etc/./a', '/etc/a/', '/etc/a\nb', '/etc/a\0'].map(
        (path): Case['bad'][number] => [file({ path }), `${FILES}[0].path`, /absolute clean/],
      ),
      [file({ path: undefined }), `${FILES}[0]`, /path is missing/],
    ],
  },
  {
    code: 'K8S213',
    good: [file({ path: '/var/a' })],
    bad: ['/usr/a', '/etc', '/var', '/etcX/a', '/opt/a'].map((path) => [
      file({ path }),
      `${FILES}[0].path`,
      /only \/etc and \/var/,
    ]),
  },
  {
    code: 'K8S214',
    good: [file({ path: '/var/runner/a' })],
    bad: ['/var/run/a', '/var/lock/a', '/etc/mtab'].map((path) => [
      file({ path }),
      `${FILES}[0].path`,
      /link leads it out/,
    ]),
  },
  {
    code: 'K8S215',
    good: [file({ path: '/etc/rancher/k3s/config.yaml.d/a.yaml' })],
    bad: [
      [file({ path: '/etc/rancher/k3s/config.yaml' }), `${FILES}[0].path`, /generated by the installer/],
      [
        clusterConfig((spec) => {
          spec.files = [
            { path: '/etc/a', content: 'x' },
            { path: '/etc/a', content: 'y' },
          ];
        }),
        `${FILES}[1].path`,
        /duplicate/,
      ],
    ],
  },
  {
    code: 'K8S216',
    good: [file({ path: '/etc/passwd.example' }), file({ path: '/etc/cloud/a.cfg' })],
    bad: [
      '/etc/passwd',
      '/etc/shadow',
      '/etc/group',
      '/etc/sudoers',
      '/etc/sudoers.d/x',
      '/etc/fstab',
      '/etc/machine-id',
      '/etc/cloud/ds-identify.cfg',
    ].map((path) => [file({ path }), `${FILES}[0].path`, /reserved path/]),
  },
  {
    code: 'K8S217',
    good: [file({ content: '' })],
    bad: [
      [file({ content: undefined }), `${FILES}[0]`, /content is missing/],
      [file({ contentFrom: { secret: { name: 'a', key: 'b' } } }), `${FILES}[0]`, /both/],
    ],
  },
  {
    code: 'K8S218',
    good: [file({})],
    bad: [
      [
        file({ content: undefined, contentFrom: { secret: {} } }),
        `${FILES}[0].contentFrom`,
        /put the text in "content"/,
      ],
    ],
  },
  {
    code: 'K8S219',
    good: [
      file({ encoding: 'base64', content: base64('x') }),
      file({ encoding: 'gzip+base64', content: gzipSync('x').toString('base64') }),
    ],
    bad: [
      [file({ encoding: 'rot13' }), `${FILES}[0].encoding`, /one of base64/],
      [file({ encoding: 'gzip' }), `${FILES}[0].encoding`, /plain gzip/],
      [file({ encoding: 'base64', content: 'x!' }), `${FILES}[0].content`, /not base64/],
      [file({ encoding: 'gzip+base64', content: base64('x') }), `${FILES}[0].content`, /not gzip/],
    ],
  },
  {
    code: 'K8S220',
    good: [file({ permissions: '0640', owner: 'root:adm' }), file({ permissions: '644', owner: 'root' })],
    bad: [
      [file({ permissions: 416 }), `${FILES}[0].permissions`, /in quotes/],
      [file({ permissions: '0899' }), `${FILES}[0].permissions`, /octal/],
      [file({ owner: 'a:b:c' }), `${FILES}[0].owner`, /user:group/],
    ],
  },
  {
    code: 'K8S221',
    good: [file({ content: 'x'.repeat(1024 * 1024) })],
    bad: [
      [file({ content: 'x'.repeat(1024 * 1024 + 1) }), `${FILES}[0].content`, /at most 1048576/],
      [
        clusterConfig((spec) => {
          spec.files = Array.from({ length: 9 }, (_, index) => ({
            path: `/etc/${index}`,
            content: 'x'.repeat(1024 * 1024),
          }));
        }),
        FILES,
        /all files together/,
      ],
    ],
  },
  {
    code: 'K8S222',
    severity: 'warning',
    good: [
      file({ path: '/etc/hello' }),
      { ...file({ path: '/var/lib/rancher/k3s/a' }), image: { profile: 'emt' } },
    ],
    bad: [
      [{ ...file({ path: '/etc/hello' }), image: { profile: 'emt' } }, `${FILES}[0].path`, /lost at reboot/],
    ],
  },
  {
    code: 'K8S223',
    severity: 'warning',
    good: ['kube-apiserver-arg+', 'etcd-arg'].map((key) =>
      clusterConfig((spec) => {
        spec.serverConfig.kubeAPIServerArg = ['--admission-control-config-file=/x'];
        spec.files = [{ path: '/etc/rancher/k3s/config.yaml.d/a.yaml', content: `${key}: [a=b]\n` }];
      }),
    ),
    bad: [
      [
        clusterConfig((spec) => {
          spec.serverConfig.kubeAPIServerArg = ['tls-min-version=x', '--admission-control-config-file=/x'];
          spec.files = [
            {
              path: '/etc/rancher/k3s/config.yaml.d/a.yaml',
              content: 'kube-apiserver-arg: [tls-min-version=y]\n',
            },
          ];
        }),
        `${FILES}[0].content`,
        /^replaces kube-apiserver-arg, dropping: admission-control-config-file /,
      ],
    ],
  },
  {
    code: 'K8S224',
    severity: 'warning',
    good: [
      file({ path: '/etc/a/config.toml.tmpl', content: '{{ template "base" . }}' }),
      file({ content: '\\"' }),
    ],
    bad: [
      [
        file({ path: '/etc/a/config.toml.tmpl', content: '{{ template \\"base\\" . }}' }),
        `${FILES}[0].content`,
        /backslashes are removed/,
      ],
    ],
  },
  {
    code: 'K8S225',
    options: { withJinja: true },
    good: [file({ content: '{ {' })],
    bad: [
      [file({ content: '{{ x }}' }), `${FILES}[0].content`, /Jinja/],
      [file({ content: '{% x %}' }), `${FILES}[0].content`, /Jinja/],
    ],
  },
  {
    code: 'K8S230',
    good: [clusterConfig((spec) => Object.assign(spec, { preK3sCommands: ['echo'], postK3sCommands: null }))],
    bad: [
      [
        clusterConfig((spec) => Object.assign(spec, { preK3sCommands: [''] })),
        `${SPEC_PATH}.preK3sCommands[0]`,
        /empty/,
      ],
      [
        clusterConfig((spec) => Object.assign(spec, { preK3sCommands: [1] })),
        `${SPEC_PATH}.preK3sCommands[0]`,
        /expected string/,
      ],
      [
        clusterConfig((spec) => Object.assign(spec, { postK3sCommands: ['a\0'] })),
        `${SPEC_PATH}.postK3sCommands[0]`,
        /NUL/,
      ],
      [
        clusterConfig((spec) => Object.assign(spec, { preK3sCommands: ['x'.repeat(131_073)] })),
        `${SPEC_PATH}.preK3sCommands[0]`,
        /128 KiB/,
      ],
    ],
  },
  {
    code: 'K8S231',
    good: [agent({ kubeletArgs: ['max-pods=250', '--v=2', 'feature-gates=A=true'] })],
    bad: [
      [agent({ kubeletArgs: ['Max=1'] }), `${SPEC_PATH}.agentConfig.kubeletArgs[0]`, /name=value/],
      [agent({ kubeProxyArgs: ['a=b\nc'] }), `${SPEC_PATH}.agentConfig.kubeProxyArgs[0]`, /one line/],
      [agent({ kubeletArgs: ['a=1', '--a=2'] }), `${SPEC_PATH}.agentConfig.kubeletArgs[1]`, /twice/],
    ],
  },
  {
    code: 'K8S232',
    good: [server({ clusterCidr: '10.50.0.0/16,fd00:1::/56', serviceCidr: '10.60.0.0/16,fd00:2::/112' })],
    bad: [
      [
        server({ clusterCidr: '10.42.0.1/16' }),
        `${SPEC_PATH}.serverConfig.clusterCidr`,
        /10.42.0.1\/16 has host bits; use 10.42.0.0\/16/,
      ],
      [server({ clusterCidr: '10.42/16' }), `${SPEC_PATH}.serverConfig.clusterCidr`, /not a network/],
      [
        server({ serviceCidr: '10.42.128.0/17' }),
        `${SPEC_PATH}.serverConfig.serviceCidr`,
        /overlaps clusterCidr/,
      ],
      [server({ clusterCidr: 'fd00::/56' }), `${SPEC_PATH}.serverConfig.serviceCidr`, /same IP families/],
      [
        server({ clusterCidr: '10.1.0.0/16,10.2.0.0/16' }),
        `${SPEC_PATH}.serverConfig.clusterCidr`,
        /one IPv4 and one IPv6/,
      ],
      [
        clusterConfig((_, config) => {
          config.operatingSystem.network = [{ address: '10.42.3.4/24' }];
        }),
        'operatingSystem.network[0].address',
        /overlaps/,
      ],
    ],
  },
  {
    code: 'K8S233',
    good: [
      server({ serviceCidr: '10.60.0.0/16', clusterDNS: '10.60.0.10' }),
      server({ serviceCidr: '10.43.0.0/16' }),
    ],
    bad: [
      [server({ clusterDNS: '10.60.0.10' }), `${SPEC_PATH}.serverConfig.clusterDNS`, /not in serviceCidr/],
      [server({ clusterDNS: 'dns' }), `${SPEC_PATH}.serverConfig.clusterDNS`, /not an IP/],
      [server({ serviceCidr: '10.60.0.0/16' }), `${SPEC_PATH}.serverConfig.serviceCidr`, /using 10.60.0.10/],
    ],
  },
  {
    code: 'K8S234',
    good: [server({ bindAddress: '0.0.0.0', advertisePort: '6443', clusterDomain: 'edge.local' })],
    bad: [
      [server({ bindAddress: 'any' }), `${SPEC_PATH}.serverConfig.bindAddress`, /not an IP/],
      [server({ httpsListenPort: '70000' }), `${SPEC_PATH}.serverConfig.httpsListenPort`, /not a port/],
      [server({ clusterDomain: '-a' }), `${SPEC_PATH}.serverConfig.clusterDomain`, /not a DNS name/],
    ],
  },
  {
    code: 'K8S235',
    severity: 'warning',
    good: [
      server({ disableComponents: ['traefik', 'etcd-proxy'] }),
      clusterConfig((spec) => {
        spec.files = [{ path: '/var/lib/rancher/k3s/server/manifests/mine.yaml', content: 'x' }];
        spec.serverConfig.disableComponents = ['mine'];
      }),
    ],
    bad: [
      [
        server({ disableComponents: ['cloudController'] }),
        `${SPEC_PATH}.serverConfig.disableComponents[0]`,
        /not a component/,
      ],
      [
        server({ disableComponents: ['treafik'] }),
        `${SPEC_PATH}.serverConfig.disableComponents[0]`,
        /did you mean "traefik"/,
      ],
    ],
  },
  {
    code: 'K8S236',
    good: [agent({ nodeLabels: ['site=lab-1', 'example.com/role=a', 'topology.kubernetes.io/zone=z'] })],
    bad: [
      [agent({ nodeLabels: ['site'] }), `${SPEC_PATH}.agentConfig.nodeLabels[0]`, /key=value/],
      [
        agent({ nodeLabels: ['node-role.kubernetes.io/edge=true'] }),
        `${SPEC_PATH}.agentConfig.nodeLabels[0]`,
        /kubelet refuses/,
      ],
    ],
  },
  {
    code: 'K8S237',
    good: [agent({ nodeTaints: ['a=b:NoSchedule', 'example.com/a:NoExecute'] })],
    bad: [[agent({ nodeTaints: ['a=b:Never'] }), `${SPEC_PATH}.agentConfig.nodeTaints[0]`, /NoSchedule/]],
  },
  {
    code: 'K8S238',
    good: [
      server({ tlsSan: ['edge.example.com', '192.0.2.1', '*.example.com'] }),
      agent({ nodeName: 'edge-1', privateRegistry: '/etc/rancher/k3s/registries.yaml' }),
    ],
    bad: [
      [server({ tlsSan: ['a b'] }), `${SPEC_PATH}.serverConfig.tlsSan[0]`, /not a DNS name/],
      [agent({ nodeName: 'Edge' }), `${SPEC_PATH}.agentConfig.nodeName`, /lower-case/],
      [
        agent({ privateRegistry: '/etc/x.yaml' }),
        `${SPEC_PATH}.agentConfig.privateRegistry`,
        /not among files/,
      ],
    ],
  },
  {
    code: 'K8S239',
    severity: 'warning',
    good: [clusterConfig((spec) => Object.assign(spec, { preK3sCommands: ['a\nb'] }))],
    bad: [
      [
        'version: 1.0\nkubernetes:\n  spec: {template: {spec: {kthreesConfigSpec: {preK3sCommands: ["a\n   b"]}}}}\n',
        `${SPEC_PATH}.preK3sCommands[0]`,
        /folds/,
      ],
    ],
  },
  {
    code: 'K8S240',
    severity: 'warning',
    good: [server({ cloudProviderName: 'external' }), server({ disableCloudController: true })],
    bad: [
      [
        server({ cloudProviderName: 'external', disableCloudController: true }),
        `${SPEC_PATH}.serverConfig.cloudProviderName`,
        /stay tainted/,
      ],
    ],
  },
  {
    code: 'K8S241',
    severity: 'warning',
    good: [
      clusterConfig((spec) =>
        Object.assign(spec, { preK3sCommands: ['mkdir /etc/systemd/system/k3s.service.d'] }),
      ),
    ],
    bad: [
      [
        clusterConfig((spec) =>
          Object.assign(spec, { preK3sCommands: ['mkdir /etc/systemd/system/k3s-server.service.d'] }),
        ),
        `${SPEC_PATH}.preK3sCommands[0]`,
        /no effect/,
      ],
    ],
  },
  {
    code: 'NET301',
    good: [
      card({ address: '192.0.2.10/24', gateway: '192.0.2.1', dns: ['192.0.2.2', '2001:db8::1'] }),
      card({ dhcp: true }),
    ],
    bad: [
      [card({ address: '192.0.2.10' }), 'operatingSystem.network[0].address', /add the prefix length/],
      [card({ address: '300.0.2.10/24' }), 'operatingSystem.network[0].address', /not address\/prefix/],
      [card({ address: '192.0.2.255/24' }), 'operatingSystem.network[0].address', /broadcast/],
      [
        card({ address: '192.0.2.10/24', gateway: '192.0.3.1' }),
        'operatingSystem.network[0].gateway',
        /not in the network/,
      ],
      [
        card({ address: '192.0.2.10/24', gateway: '192.0.2.10' }),
        'operatingSystem.network[0].gateway',
        /own address/,
      ],
      [card({ gateway: '192.0.2.1' }), 'operatingSystem.network[0].gateway', /needs an address/],
      [card({ dhcp: false }), 'operatingSystem.network[0]', /neither dhcp nor/],
      [card({ dns: ['dns.example.com'] }), 'operatingSystem.network[0].dns[0]', /not an IP/],
      [card({ searchDomains: ['a b'] }), 'operatingSystem.network[0].searchDomains[0]', /not a domain/],
    ],
  },
  {
    code: 'NET302',
    good: [card({ vlan: 4094, mtu: 9000, mac: '52-54-00-12-34-56' })],
    bad: [
      [card({ vlan: 4095 }), 'operatingSystem.network[0].vlan', /VLAN id/],
      [card({ mtu: 100 }), 'operatingSystem.network[0].mtu', /MTU/],
      [card({ mac: '52:54' }), 'operatingSystem.network[0].mac', /MAC/],
    ],
  },
  {
    code: 'NET303',
    good: [card({ vlan: 1 }, { vlan: 2 }, {})],
    bad: [
      [card({}, { dhcp: true }), 'operatingSystem.network[1]', /configured twice/],
      [
        nodes(
          { match: { serial: 'A1' }, operatingSystem: { network: [{ address: '192.0.2.5/24' }] } },
          { match: { serial: 'A2' }, operatingSystem: { network: [{ address: '192.0.2.5/24' }] } },
        ),
        'nodes[1].operatingSystem.network[0].address',
        /another machine/,
      ],
    ],
  },
  {
    code: 'DISK402',
    good: [
      disk({
        serial: 'S3*',
        bus: 'nvme',
        minSizeGiB: 32,
        pick: 'smallest',
        link: 'by-id/nvme-*',
        wwn: 'eui.00',
      }),
    ],
    bad: [
      [disk({ minSizeGiB: 0 }), 'disk.minSizeGiB', /not a size/],
      [disk({ minSizeGiB: 20, maxSizeGiB: 10 }), 'disk.maxSizeGiB', /no disk can match/],
      [disk({ serial: '' }), 'disk.serial', /empty/],
      [disk({ link: '/dev/sda' }), 'disk.link', /change between boots/],
      [disk({ wwn: '0x5000' }), 'disk.wwn', /prefix/],
      [disk({ bus: 'nmve' }), 'disk.bus', /did you mean "nvme"/],
    ],
  },
  {
    code: 'IMG501',
    good: [image({ file: 'a.raw.gz', sha256: 'a'.repeat(64) })],
    bad: [
      [image({ file: 'a', url: 'http://b' }), 'image.url', /both/],
      [image({ url: 'ftp://b' }), 'image.url', /not an http/],
      [image({ sha256: 'abc' }), 'image.sha256', /64 hex/],
    ],
  },
  {
    code: 'IMG502',
    good: [image({ profile: 'emt', protection: 'encryption' }), image({ protection: 'none' })],
    bad: [[image({ protection: 'verity' }), 'image.protection', /needs profile emt/]],
  },
  {
    code: 'IMG503',
    severity: 'warning',
    good: [image({ profile: 'emt', protection: 'verity' })],
    bad: [[image({ profile: 'emt', protection: 'encryption' }), 'image.protection', /written to the stick/]],
  },
  {
    code: 'IMG504',
    options: { lookUp: (path) => (({ 'a.raw': 'file', parts: 'folder' }) as const)[path] },
    good: [image({ file: 'a.raw', artifacts: 'parts' }), image({ url: 'http://b/c' })],
    bad: [
      [image({ file: 'b.raw' }), 'image.file', /no file b.raw beside/],
      [image({ file: 'parts' }), 'image.file', /no file parts/],
      [image({ file: 'a.raw', artifacts: 'a.raw' }), 'image.artifacts', /no folder a.raw/],
    ],
  },
];

/** What needs the machine itself: the disk engine’s tests have it. */
const AT_INSTALL_TIME = new Set(['DISK401']);

test('every rule has a good and a bad case', () => {
  const covered = CASES.filter(({ good, bad }) => good.length > 0 && bad.length > 0).map(({ code }) => code);
  expect(Object.keys(RULES).filter((code) => !AT_INSTALL_TIME.has(code))).toEqual(covered);
});

describe.each(CASES)('$code', ({ code, good, bad, severity, options }) => {
  test.each(good.map((config, index) => ({ index, config })))('passes good case $index', ({ config }) => {
    const found = findingsOf(config, options).filter(
      (issue) => issue.code === code && issue.severity !== 'notice',
    );
    expect(found).toEqual([]);
  });

  test.each(bad)('finds bad case %#', (config, path, message) => {
    const found = findingsOf(config, options).filter((issue) => issue.code === code);
    expect(found).toContainEqual(expect.objectContaining({ path, message: expect.stringMatching(message) }));
    if (severity) expect(found.every((issue) => issue.severity === severity)).toBe(true);
  });
});
