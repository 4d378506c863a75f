import { didYouMean } from './did-you-mean.ts';
import { formatPath, type Path, type Report } from './issue.ts';
import { isTree } from './normalize.ts';
import type { RuleCode } from './rule-table.ts';
import { type Config, configSchema } from './schema.ts';
import { keysOf, schemaAt } from './schema-walk.ts';
import { whereItBelongs } from './where-it-belongs.ts';

/**
 * Checks keys and types, reports each fault, and gives back the value without the faulty parts. What is left has the
 * type of the schema (in which everything is optional), so the rules can go on; a removed list item leaves a hole,
 * which `forEach` passes over, so that the items after it keep their index.
 */
export function checkShape(value: unknown, report: Report): Config {
  if (!isTree(value)) {
    report('CFG002', [], 'the file must be a map with the keys version, operatingSystem, …');
    return {};
  }
  const result = configSchema.safeParse(value);
  for (const issue of result.error?.issues ?? []) {
    const path = issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment));
    if (issue.code === 'unrecognized_keys') {
      const known = keysOf(schemaAt(configSchema, path));
      for (const key of issue.keys) {
        const code = isKubernetes(path) ? 'K8S204' : 'CFG002';
        const kind = isKubernetes(path) ? 'field' : 'key';
        const meant = didYouMean(key, known) || whereItBelongs(key, path);
        report(code, [...path, key], `unknown ${kind} "${key}"${meant}`);
        remove(value, [...path, key]);
      }
    } else {
      const found = valueAt(value, path);
      report(codeFor(path), path, messageFor(path, issue, found));
      remove(value, path);
    }
  }
  return value as Config;
}

interface ShapeIssue {
  code: string;
  expected?: string;
  values?: readonly unknown[];
  errors?: readonly (readonly ShapeIssue[])[];
}

function messageFor(path: Path, issue: object, found: unknown): string {
  const { code, expected, values, errors } = issue as ShapeIssue;
  const field = path.at(-1);
  const inKubernetes = path.includes('kubernetes');
  if (formatPath(path) === 'version') return 'version must be 1.0';
  if (inKubernetes && field === 'kind') return 'only "KThreesControlPlaneTemplate" is supported';
  if (inKubernetes && field === 'apiVersion') {
    const convert = String(found).endsWith('/v1beta1') ? '; convert it (v1beta1 has the same fields)' : '';
    return `only "controlplane.cluster.x-k8s.io/v1beta2" is supported${convert}`;
  }
  if (inKubernetes && field === 'files') return 'expected a list of files';
  if (field === 'permissions') return `must be octal and in quotes: "0644", not ${JSON.stringify(found)}`;
  if (values !== undefined) {
    const words = values.map(String);
    return `must be one of ${words.join(', ')}${didYouMean(String(found), words)}`;
  }
  if (code === 'invalid_union' && errors !== undefined) {
    const wanted = errors.flat().map((error) => error.expected ?? JSON.stringify(error.values?.[0]));
    return `expected ${[...new Set(wanted)].map(plainType).join(' or ')}`;
  }
  return `expected ${plainType(expected ?? 'another value')}, not ${kindOf(found)}`;
}

/** Faults of shape belong to the rule about the field where there is one. */
function codeFor(path: Path): RuleCode {
  const fields = path.filter((segment) => typeof segment === 'string');
  const [first, second, third] = fields[0] === 'nodes' ? fields.slice(1) : fields;
  const last = fields.at(-1);
  if (first === 'version') return 'CFG003';
  if (first === 'match') return 'CFG007';
  if (first === 'kubernetes') {
    if (second === 'kind') return 'K8S201';
    if (second === 'apiVersion') return 'K8S202';
    if (last === 'files') return 'K8S211';
    if (last === 'encoding') return 'K8S219';
    if (last === 'permissions' || last === 'owner') return 'K8S220';
    if (last === 'preK3sCommands' || last === 'postK3sCommands') return 'K8S230';
    return 'K8S205';
  }
  if (first === 'operatingSystem') {
    const byField: Record<string, RuleCode> = {
      users: third === 'password' ? 'OS102' : third === 'sshKeys' ? 'OS106' : 'OS101',
      sshKey: 'OS106',
      proxy: third === 'noProxy' ? 'OS105' : 'OS104',
      network: 'NET301',
      ntpServers: 'OS107',
      lvmSizeGiB: 'OS108',
      hugePages: 'OS108',
      services: 'OS109',
      writeFiles: 'OS110',
      runCommands: 'OS111',
      hostname: 'OS112',
      timezone: 'OS112',
    };
    return byField[second ?? ''] ?? 'CFG005';
  }
  if (first === 'disk') return 'DISK402';
  if (first === 'image') return 'IMG501';
  return 'CFG005';
}

function isKubernetes(path: Path): boolean {
  return path[0] === 'kubernetes' || (path[0] === 'nodes' && path[2] === 'kubernetes');
}

function plainType(type: string): string {
  return type === 'array' ? 'a list' : type === 'object' ? 'a map' : type;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isTree(value)) return 'a map';
  return value === undefined ? 'nothing' : `the ${typeof value} ${JSON.stringify(value)}`;
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, segment) => (value as Record<string | number, unknown> | undefined)?.[segment],
    root,
  );
}

function remove(root: unknown, path: Path): void {
  const owner = valueAt(root, path.slice(0, -1)) as Record<string | number, unknown> | undefined;
  const last = path.at(-1);
  if (owner !== undefined && last !== undefined) delete owner[last];
}
