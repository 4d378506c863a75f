import { KindlingError } from '../../protocol/error.ts';
import { isTree } from '../config/normalize.ts';
import type { Config, OperatingSystem } from '../config/schema.ts';
import { evaluate } from './arithmetic.ts';
import { type HybridFile, readHybridFile } from './hybrid-file.ts';
import { todaysCluster } from './todays-cluster.ts';

export interface Migration {
  config: Config;
  /** What could not be carried over as it was, for the person who runs the command. */
  notes: string[];
}

const KNOWN = new Set([
  ...['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'],
  ...['ssh_key', 'user_name', 'host_type', 'static_ip', 'subnet_mask', 'default_gate_way', 'dns_name_server'],
  ...['lvm_size_ingb', 'huge_page_config', 'USER_CUSTOM_NTP_SERVERS', 'deploy_envmt', 'passwd'],
]);

/** Today's hybrid file as a configuration of version 1.0 that installs the same node. */
export function migrateHybrid(text: string): Migration {
  const file = readHybridFile(text);
  requireOldConfig(text, file);
  const notes = [...file.notes];
  const get = (key: string) => file.assignments.get(key) ?? '';
  for (const key of file.assignments.keys()) if (!KNOWN.has(key)) notes.push(`unknown key ${key}; left out`);
  if (get('deploy_envmt') !== '') notes.push('deploy_envmt is not needed any more; left out');

  const hostType = get('host_type') === 'container' ? 'container' : 'kubernetes';
  const operatingSystem: OperatingSystem = {
    hostType,
    users: [migrateUser(get, notes)],
    ...(get('ssh_key') === '' ? {} : { sshKey: get('ssh_key') }),
    ...migrateProxy(get),
    ...migrateNetwork(get, notes),
    ...migrateNumbers(get, notes),
    ...migrateLists(file.yaml, notes),
  };
  const config: Config = { version: '1.0', operatingSystem };
  if (hostType === 'kubernetes') config.kubernetes = todaysCluster();
  config.disk = { pick: 'smallest' };
  notes.push(
    'today’s installer erases every disk and takes the smallest; the new one erases only the one it takes',
  );
  config.image = { profile: 'emt' };
  notes.push('add image.file: the path of the operating system image');
  return { config, notes };
}

/** Nearly every text can be read as an old config without any settings: the result would install nothing. */
function requireOldConfig(text: string, { assignments, yaml }: HybridFile): void {
  const isOld = [...assignments.keys()].some((key) => KNOWN.has(key)) || Object.keys(yaml).length > 0;
  if (isOld) return;
  if (/^(version|operatingSystem)\s*:/m.test(text)) {
    throw new KindlingError('KND_STANDALONE_CONFIG_INVALID', 'this is a config of the new format already', {
      hint: 'Use it as it is: kindling standalone validate FILE.',
    });
  }
  throw new KindlingError(
    'KND_STANDALONE_CONFIG_INVALID',
    'this is no config file of the standalone installer: it has none of its settings, for example user_name="user"',
    { hint: 'Give the config-file of today’s installer, or a cluster template (JSON).' },
  );
}

type Get = (key: string) => string;

function migrateUser(get: Get, notes: string[]): { username: string; password?: string } {
  const username = get('user_name');
  if (username === '') notes.push('user_name is empty; set operatingSystem.users[0].username');
  const password = get('passwd');
  if (password !== '') return { username, password: Buffer.from(password).toString('base64') };
  notes.push(
    'the old file has no password (it was typed in); add users[0].password: base64, or a crypt(3) hash',
  );
  return { username };
}

function migrateProxy(get: Get): Pick<OperatingSystem, 'proxy'> {
  const either = (key: string) => get(key) || get(key.toUpperCase());
  const proxy = {
    ...(either('http_proxy') ? { httpProxy: either('http_proxy') } : {}),
    ...(either('https_proxy') ? { httpsProxy: either('https_proxy') } : {}),
    ...(either('no_proxy') ? { noProxy: either('no_proxy') } : {}),
  };
  return Object.keys(proxy).length > 0 ? { proxy } : {};
}

function migrateNetwork(get: Get, notes: string[]): Pick<OperatingSystem, 'network'> {
  if (get('static_ip') === '') return {};
  if (get('subnet_mask') === '') notes.push('static_ip has no subnet_mask; add the prefix length');
  notes.push('static_ip was used only where DHCP gave no address; now it always is');
  return {
    network: [
      {
        address: `${get('static_ip')}/${get('subnet_mask').replace(/^\//, '')}`,
        ...(get('default_gate_way') === '' ? {} : { gateway: get('default_gate_way') }),
        ...(get('dns_name_server') === '' ? {} : { dns: words(get('dns_name_server')) }),
      },
    ],
  };
}

function migrateNumbers(
  get: Get,
  notes: string[],
): Pick<OperatingSystem, 'ntpServers' | 'lvmSizeGiB' | 'hugePages'> {
  const lvm = Number(get('lvm_size_ingb') || '0');
  const pages = get('huge_page_config') === '' ? 0 : evaluate(get('huge_page_config'));
  if (!Number.isInteger(lvm)) notes.push(`lvm_size_ingb "${get('lvm_size_ingb')}" is not a number; left out`);
  if (pages === undefined)
    notes.push(`huge_page_config "${get('huge_page_config')}" is no arithmetic; left out`);
  const ntp = words(get('USER_CUSTOM_NTP_SERVERS'));
  return {
    ...(ntp.length > 0 ? { ntpServers: ntp } : {}),
    ...(Number.isInteger(lvm) && lvm > 0 ? { lvmSizeGiB: lvm } : {}),
    ...(pages !== undefined && pages > 0 ? { hugePages: pages } : {}),
  };
}

function migrateLists(
  yaml: HybridFile['yaml'],
  notes: string[],
): Pick<OperatingSystem, 'services' | 'writeFiles' | 'runCommands'> {
  const services = isTree(yaml['services']) ? yaml['services'] : {};
  const enable = texts(services['enable']);
  const disable = texts(services['disable']);
  const files = (Array.isArray(yaml['write_files']) ? yaml['write_files'] : []).filter(isTree);
  const commands = Array.isArray(yaml['runcmd']) ? yaml['runcmd'] : [];
  if (files.some((file) => 'append' in file || 'owner' in file || 'encoding' in file)) {
    notes.push('append, owner and encoding of write_files were ignored; now they have effect');
  }
  return {
    ...(enable.length + disable.length > 0 ? { services: { enable, disable } } : {}),
    ...(files.length > 0 ? { writeFiles: files.map(migrateFile) } : {}),
    ...(commands.length > 0
      ? {
          runCommands: commands.map((command) =>
            Array.isArray(command) ? command.map(String) : String(command),
          ),
        }
      : {}),
  };
}

function migrateFile(file: Record<string, unknown>): NonNullable<OperatingSystem['writeFiles']>[number] {
  const text = (key: string) =>
    file[key] === undefined || file[key] === null ? undefined : String(file[key]);
  const encoding = text('encoding');
  return {
    path: text('path') ?? '',
    content: text('content') ?? '',
    ...(text('permissions') === undefined ? {} : { permissions: octal(file['permissions']) }),
    ...(text('owner') === undefined ? {} : { owner: text('owner') }),
    ...(file['append'] === true ? { append: true } : {}),
    ...(encoding === undefined ? {} : { encoding: /gz/.test(encoding) ? 'gzip+base64' : 'base64' }),
  };
}

/** `permissions: 0644` without quotes is the number 644 in YAML 1.2: its digits are what was meant. */
function octal(value: unknown): string {
  return String(value).padStart(4, '0');
}

function words(text: string): string[] {
  return text.split(/[,\s]+/).filter((word) => word !== '');
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => item !== null).map(String) : [];
}
