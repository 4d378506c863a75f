import { KindlingError } from '../../protocol/error.ts';
import { type CloudInitFile, clusterPart } from '../bootstrap/standalone-cluster.ts';
import { readPassword } from '../config/password.ts';
import { k3sSpec } from '../config/rules/k3s-spec.ts';
import type { Config, OperatingSystem, User } from '../config/schema.ts';
import { firstBootPart } from './first-boot.ts';

export interface UserDataOptions {
  /** The first boot tells its result to the console, and to the installer stick if it is still there. */
  reportsFirstBoot?: boolean;
}

/** The cloud-config of one machine: one write_files and one runcmd, because cloud-init does not merge two. */
export function userData(config: Config, options: UserDataOptions = {}): Record<string, unknown> {
  const os = config.operatingSystem ?? {};
  const hostType = os.hostType ?? (config.kubernetes === undefined ? 'plain' : 'kubernetes');
  const target = {
    isImmutable: config.image?.profile === 'emt',
    hasArtifacts: config.image?.artifacts !== undefined,
  };
  const cluster =
    hostType === 'kubernetes' ? clusterPart(k3sSpec(config) ?? {}, target) : { files: [], commands: [] };
  const proxy = proxyPart(os);
  const docker = hostType === 'container' ? dockerPart(target.isImmutable) : { files: [], commands: [] };
  const report = options.reportsFirstBoot ? firstBootPart(hostType) : { files: [], commands: [] };
  const pages = hugePagesPart(os.hugePages ?? 0);
  const files = [
    ...proxy.files,
    ...pages.files,
    ...docker.files,
    ...cluster.files,
    ...systemFiles(os),
    ...report.files,
  ];
  const commands = [
    ...proxy.commands,
    ...pages.commands,
    ...(os.services?.enable ?? []).map((unit) => `systemctl enable --now ${unit}`),
    ...(os.services?.disable ?? []).map((unit) => `systemctl disable --now ${unit}`),
    ...docker.commands,
    ...cluster.commands,
    ...(os.runCommands ?? []),
    ...report.commands,
  ];
  const users = (os.users ?? []).map((user) => cloudInitUser(user, os.sshKey));
  return {
    ...(os.hostname === undefined ? {} : { hostname: os.hostname, preserve_hostname: false }),
    users,
    ...(users.some(({ name }) => name === 'root') ? { disable_root: false } : {}),
    ...(users.some((user) => 'hashed_passwd' in user) ? { ssh_pwauth: true } : {}),
    ...(os.timezone === undefined ? {} : { timezone: os.timezone }),
    ...(os.ntpServers && os.ntpServers.length > 0 ? { ntp: { enabled: true, servers: os.ntpServers } } : {}),
    // An empty list is no valid cloud-config.
    ...(files.length > 0 ? { write_files: files } : {}),
    ...(commands.length > 0 ? { runcmd: commands } : {}),
  };
}

function cloudInitUser(user: User, sharedKey: string | undefined): Record<string, unknown> {
  const keys = [...(sharedKey ? [sharedKey] : []), ...(user.sshKeys ?? [])].map((key) => key.trim());
  return {
    name: user.username,
    shell: user.shell ?? '/bin/bash',
    lock_passwd: user.password === undefined,
    // hashed_passwd, not passwd: only that is also set for a user who exists already, like root.
    ...(user.password === undefined ? {} : { hashed_passwd: hashOf(user) }),
    ...(keys.length > 0 ? { ssh_authorized_keys: keys } : {}),
    ...((user.sudo ?? true) && user.username !== 'root' ? { sudo: 'ALL=(ALL) NOPASSWD:ALL' } : {}),
    ...(user.groups && user.groups.length > 0 ? { groups: user.groups } : {}),
  };
}

function hashOf(user: User): string {
  const password = readPassword(user.password ?? '');
  if (password.kind !== 'hash') {
    throw new KindlingError(
      'KND_UNEXPECTED',
      `the password of ${user.username} was not hashed before rendering`,
    );
  }
  return password.hash;
}

interface Part {
  files: CloudInitFile[];
  commands: string[];
}

const PROXY_FILE = '/etc/kindling/proxy.env';

/**
 * Proxies go to /etc/environment as a marked block that replaces the one before: an immutable image keeps that file and
 * runs cloud-init at every boot. They are also exported, so that K3s' install script hands them to its service.
 */
function proxyPart(os: OperatingSystem): Part {
  const { httpProxy, httpsProxy, noProxy } = os.proxy ?? {};
  const given = Object.entries({ http_proxy: httpProxy, https_proxy: httpsProxy, no_proxy: noProxy }).filter(
    ([, value]) => value !== undefined && value !== '',
  );
  if (given.length === 0) return { files: [], commands: [] };
  const lines = given.flatMap(([key, value]) => [`${key}="${value}"`, `${key.toUpperCase()}="${value}"`]);
  const content = ['# kindling proxy begin', ...lines, '# kindling proxy end', ''].join('\n');
  return {
    files: [{ path: PROXY_FILE, content }],
    commands: [
      `sed -i '/^# kindling proxy begin$/,/^# kindling proxy end$/d' /etc/environment && cat ${PROXY_FILE} >> /etc/environment`,
      `set -a; . ${PROXY_FILE}; set +a`,
    ],
  };
}

function hugePagesPart(count: number): Part {
  if (count === 0) return { files: [], commands: [] };
  const path = '/etc/sysctl.d/90-kindling-huge-pages.conf';
  return { files: [{ path, content: `vm.nr_hugepages = ${count}\n` }], commands: [`sysctl -p ${path}`] };
}

function dockerPart(isImmutable: boolean): Part {
  const files: CloudInitFile[] = [
    {
      path: '/etc/systemd/system/docker.service.d/kindling-proxy.conf',
      content: '[Service]\nEnvironmentFile=-/etc/environment\n',
    },
  ];
  if (isImmutable)
    files.push({ path: '/etc/docker/daemon.json', content: '{"data-root": "/opt/docker-data"}\n' });
  return {
    files,
    commands: ['systemctl daemon-reload', 'systemctl enable docker', 'systemctl restart docker'],
  };
}

function systemFiles(os: OperatingSystem): CloudInitFile[] {
  return (os.writeFiles ?? []).map(({ path = '', content = '', permissions, owner, append, encoding }) => ({
    path,
    content,
    ...(permissions === undefined ? {} : { permissions }),
    ...(owner === undefined ? {} : { owner }),
    ...(append === undefined ? {} : { append }),
    ...(encoding === undefined ? {} : { encoding }),
  }));
}
