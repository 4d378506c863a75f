import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FIRST_NIC_MAC } from '../../../protocol/stick.ts';
import { hashPasswords } from '../../../standalone/cloud-init/hash-passwords.ts';
import { renderMachine } from '../../../standalone/cloud-init/render-machine.ts';
import { clusterConfig, type Draft, SSH_KEY, systemConfig } from '../config/example.ts';

const HASH = `$6$saltsalt$${'a'.repeat(86)}`;

function rendered(config: Draft) {
  config.operatingSystem.users ??= [];
  for (const user of config.operatingSystem.users) user.password = HASH;
  const machine = renderMachine(config);
  return {
    ...machine,
    user: parse(machine.userData, { version: '1.1' }),
    network: parse(machine.networkConfig),
  };
}

function fileOf(user: Draft, path: string): Draft {
  return user.write_files.find((file: Draft) => file.path === path);
}

describe('user-data', () => {
  test('users have hash, keys and sudo', () => {
    const { user } = rendered(
      systemConfig((os) => {
        os.users = [
          { username: 'edge', groups: ['docker'] },
          { username: 'root', sshKeys: [SSH_KEY] },
        ];
        os.sshKey = SSH_KEY;
      }),
    );
    expect(user.users).toEqual([
      {
        name: 'edge',
        shell: '/bin/bash',
        lock_passwd: false,
        hashed_passwd: HASH,
        ssh_authorized_keys: [SSH_KEY],
        sudo: 'ALL=(ALL) NOPASSWD:ALL',
        groups: ['docker'],
      },
      {
        name: 'root',
        shell: '/bin/bash',
        lock_passwd: false,
        hashed_passwd: HASH,
        ssh_authorized_keys: [SSH_KEY, SSH_KEY],
      },
    ]);
    expect(user).toMatchObject({ disable_root: false, ssh_pwauth: true });
  });

  test('has no empty lists, which cloud-init refuses', () => {
    expect(Object.keys(rendered(systemConfig(() => {})).user)).toEqual(['users', 'ssh_pwauth']);
  });

  test('system settings become files and commands in one write_files and one runcmd', () => {
    const { user } = rendered(
      systemConfig((os) => {
        Object.assign(os, {
          hostname: 'edge-1',
          timezone: 'Europe/Berlin',
          ntpServers: ['time.example.com'],
          hugePages: 64,
        });
        os.proxy = { httpProxy: 'http://proxy:911', noProxy: 'localhost' };
        os.services = { enable: ['ssh'], disable: ['cups'] };
        os.writeFiles = [{ path: '/opt/a', content: 'yes', append: true }];
        os.runCommands = ['echo last', ['echo', 'words']];
      }),
    );
    expect(user).toMatchObject({
      hostname: 'edge-1',
      timezone: 'Europe/Berlin',
      ntp: { servers: ['time.example.com'] },
    });
    expect(fileOf(user, '/etc/kindling/proxy.env').content).toContain('HTTP_PROXY="http://proxy:911"\n');
    expect(fileOf(user, '/etc/sysctl.d/90-kindling-huge-pages.conf').content).toBe('vm.nr_hugepages = 64\n');
    expect(fileOf(user, '/opt/a')).toEqual({ path: '/opt/a', content: 'yes', append: true });
    expect(user.runcmd).toEqual(
      expect.arrayContaining(['systemctl enable --now ssh', 'systemctl disable --now cups']),
    );
    expect(user.runcmd.slice(-2)).toEqual(['echo last', ['echo', 'words']]);
  });

  test('a host of type container gets Docker, and no K3s', () => {
    const { user } = rendered(
      clusterConfig((_, config) => {
        config.operatingSystem.hostType = 'container';
      }),
    );
    expect(user.runcmd).toContain('systemctl enable docker');
    expect(JSON.stringify(user)).not.toContain('k3s');
  });

  test('a text that YAML 1.1 would take for something else stays a text', () => {
    const texts = [
      'yes',
      'on',
      '0644',
      '1_000',
      '12:30:45',
      '~',
      '2026-01-01',
      'a: b',
      ' lead',
      '# no',
      'x\n\n',
      '\tx',
    ];
    const { user } = rendered(
      systemConfig((os) => {
        os.writeFiles = texts.map((content, index) => ({ path: `/opt/${index}`, content }));
      }),
    );
    expect(user.write_files.map(({ content }: Draft) => content)).toEqual(texts);
  });
});

describe('the cluster', () => {
  test('has no Jinja header, no etcd proxy, no fixed arguments; K3s’ cloud controller stays on', () => {
    const { user, userData } = rendered(
      clusterConfig((spec) => {
        spec.serverConfig = { kubeAPIServerArg: ['audit-log-maxage=1'], serviceCidr: '10.60.0.0/16' };
      }),
    );
    expect(userData.startsWith('#cloud-config\n')).toBe(true);
    expect(userData).not.toContain('etcd-proxy');
    expect(parse(fileOf(user, '/etc/rancher/k3s/config.yaml').content)).toEqual({
      'cluster-dns': '10.60.0.10',
      'cluster-init': true,
      'kube-apiserver-arg': ['audit-log-maxage=1'],
      'service-cidr': '10.60.0.0/16',
    });
  });

  test('commands: pre, install with its sentinel, post', () => {
    const { user } = rendered(
      clusterConfig((spec) => {
        Object.assign(spec, { preK3sCommands: ['export A=1'], postK3sCommands: ['echo done'] });
      }),
    );
    expect(user.runcmd).toEqual([
      'export A=1',
      "INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_EXEC='server' sh /opt/install.sh && mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete",
      'echo done',
    ]);
  });

  test('contents that the reference’s templates break come through unchanged', () => {
    const contents = ['no newline', 'two\n\n', '  leading', 'crlf\r\n', '{{ template "base" . }}\n', ''];
    const { user } = rendered(
      clusterConfig((spec) => {
        spec.files = contents.map((content, index) => ({ path: `/etc/a: #${index}`, content }));
      }),
    );
    expect(user.write_files.slice(0, contents.length)).toEqual(
      contents.map((content, index) => ({ path: `/etc/a: #${index}`, content })),
    );
  });

  test('on an immutable image K3s is installed once, outside the sealed /usr', () => {
    const { user } = rendered({ ...clusterConfig(), image: { profile: 'emt', artifacts: 'k3s' } });
    const commands = user.runcmd.join('\n');
    expect(commands).toContain(':-/opt/rancher/k3s/bin}" INSTALL_K3S_BIN_DIR_READ_ONLY=true');
    expect(commands).toContain('[ -e /var/lib/rancher/k3s/kindling-installed ] ||');
    expect(commands).toContain('/opt/k3s-airgap-images');
  });
});

describe('where it goes', () => {
  test('the installer is told whether /var of the image lasts', () => {
    expect(rendered(systemConfig(() => {})).targetKind).toBe('mutable');
    expect(rendered({ ...systemConfig(() => {}), image: { profile: 'emt' } }).targetKind).toBe('immutable');
  });

  test('meta-data names the instance and the host', () => {
    const { metaData, configId } = rendered(systemConfig((os) => Object.assign(os, { hostname: 'edge-1' })));
    expect(parse(metaData)).toEqual({ 'instance-id': `iid-${configId}`, 'local-hostname': 'edge-1' });
  });

  test('the instance changes with the configuration and not otherwise', () => {
    const id = (hostname: string) => rendered(systemConfig((os) => Object.assign(os, { hostname }))).configId;
    expect(id('a')).toBe(id('a'));
    expect(id('a')).not.toBe(id('b'));
  });
});

test('network: static address with VLAN on a named card, DHCP on the first', () => {
  const { network } = rendered(
    systemConfig((os) => {
      os.network = [
        {},
        {
          mac: '52-54-00-AB-00-01',
          vlan: 12,
          address: '192.0.2.10/24',
          gateway: '192.0.2.1',
          dns: ['192.0.2.2'],
          mtu: 1400,
        },
      ];
    }),
  );
  expect(network).toEqual({
    version: 2,
    ethernets: {
      net0: { match: { macaddress: FIRST_NIC_MAC }, 'set-name': 'net0', dhcp4: true },
      net1: { match: { macaddress: '52:54:00:ab:00:01' }, 'set-name': 'net1' },
    },
    vlans: {
      'net1.12': {
        id: 12,
        link: 'net1',
        dhcp4: false,
        addresses: ['192.0.2.10/24'],
        routes: [{ to: '0.0.0.0/0', via: '192.0.2.1' }],
        nameservers: { addresses: ['192.0.2.2'] },
        mtu: 1400,
      },
    },
  });
});

test('passwords are hashed with SHA-512 crypt; a hash stays what it is; no password stays none', async () => {
  const encoded = Buffer.from('p=a$s"s\n').toString('base64');
  const config = await hashPasswords({
    operatingSystem: {
      users: [{ username: 'a', password: encoded }, { username: 'b', password: HASH }, { username: 'c' }],
    },
  });
  const [a, b, c] = config.operatingSystem?.users ?? [];
  expect(a?.password).toMatch(/^\$6\$/);
  expect(b?.password).toBe(HASH);
  expect(c).toEqual({ username: 'c' });
  expect(JSON.stringify(config)).not.toContain(encoded);
});
