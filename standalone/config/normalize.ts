import type { Path, Report } from './issue.ts';
import { kthreesConfigSpec, kubernetesSection } from './kubernetes-schema.ts';
import { childSchema, keysOf } from './schema-walk.ts';

type Tree = Record<string, unknown>;

/**
 * Brings what is accepted in more than one form into the one form of the schema: null is "not given", fields of the
 * cluster template may be in another case or one level too high, ports may be numbers. Every liberty is reported.
 */
export function normalize(value: unknown, report: Report): unknown {
  const config = withoutNulls(value);
  if (!isTree(config)) return config;
  normalizeKubernetes(config, [], report);
  if (Array.isArray(config['nodes'])) {
    config['nodes'].forEach((entry, index) => {
      if (isTree(entry)) normalizeKubernetes(entry, ['nodes', index], report);
    });
  }
  return config;
}

function normalizeKubernetes(owner: Tree, at: Path, report: Report): void {
  const section = owner['kubernetes'];
  if (!isTree(section)) return;
  const path = [...at, 'kubernetes'];
  hoistLegacyShape(section, path, report);
  listSingleFile(section, path, report);
  fixCase(section, kubernetesSection, path, report);
  portsAsText(section, path, report);
}

/** The installer proposal's example has the fields directly below spec.template.spec. */
function hoistLegacyShape(section: Tree, path: Path, report: Report): void {
  const spec = treeAt(section, ['spec', 'template', 'spec']);
  if (spec === undefined || 'kthreesConfigSpec' in spec) return;
  const fields = new Set(keysOf(kthreesConfigSpec).map((key) => key.toLowerCase()));
  const misplaced = Object.keys(spec).filter((key) => fields.has(key.toLowerCase()));
  if (misplaced.length === 0) return;
  report(
    'K8S203',
    [...path, 'spec', 'template', 'spec'],
    `legacy shape: ${misplaced.join(', ')} belong below "kthreesConfigSpec"; accepted as if they were there`,
    'warning',
  );
  const moved: Tree = {};
  for (const key of misplaced) {
    moved[key] = spec[key];
    delete spec[key];
  }
  spec['kthreesConfigSpec'] = moved;
}

/** The installer proposal's example writes its one file without the dash of a list. */
function listSingleFile(section: Tree, path: Path, report: Report): void {
  const spec = treeAt(section, ['spec', 'template', 'spec', 'kthreesConfigSpec']);
  if (spec === undefined || !isTree(spec['files'])) return;
  report(
    'K8S211',
    [...path, ...SPEC, 'files'],
    'expected a list of files; one file alone is accepted as a list of one (put "- " before its first key)',
    'warning',
  );
  spec['files'] = [spec['files']];
}

/** Go reads JSON without regard to case, so such templates exist (EMF's own have kubeApiServerArg). */
function fixCase(tree: Tree, schema: unknown, path: Path, report: Report): void {
  const known = keysOf(schema);
  for (const key of Object.keys(tree)) {
    if (known.length === 0 || known.includes(key)) continue;
    const meant = known.find((name) => name.toLowerCase() === key.toLowerCase() && !(name in tree));
    if (meant === undefined) continue;
    report('K8S204', [...path, key], `field "${key}" is spelled "${meant}"; accepted`, 'warning');
    tree[meant] = tree[key];
    delete tree[key];
  }
  for (const [key, child] of Object.entries(tree)) {
    const inner = childSchema(schema, key);
    if (isTree(child)) fixCase(child, inner, [...path, key], report);
    if (Array.isArray(child)) {
      child.forEach((item, index) => {
        if (isTree(item)) fixCase(item, childSchema(inner, index), [...path, key, index], report);
      });
    }
  }
}

function portsAsText(section: Tree, path: Path, report: Report): void {
  const server = treeAt(section, [...SPEC, 'serverConfig']);
  if (server === undefined) return;
  for (const key of ['httpsListenPort', 'advertisePort']) {
    const port = server[key];
    if (typeof port !== 'number') continue;
    report('K8S205', [...path, ...SPEC, 'serverConfig', key], `expected string; write "${port}"`, 'warning');
    server[key] = String(port);
  }
}

/** From the kubernetes section down to the fields of K3s. */
export const SPEC = ['spec', 'template', 'spec', 'kthreesConfigSpec'] as const;

function treeAt(tree: Tree, path: readonly string[]): Tree | undefined {
  let current: unknown = tree;
  for (const key of path) {
    if (!isTree(current)) return undefined;
    current = current[key];
  }
  return isTree(current) ? current : undefined;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isTree(value)) return value;
  const entries = Object.entries(value).filter(([, child]) => child !== null);
  return Object.fromEntries(entries.map(([key, child]) => [key, withoutNulls(child)]));
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
