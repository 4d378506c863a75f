import { isDeepStrictEqual } from 'node:util';
import { normalizeMac } from '../../formats/mac-address.ts';
import type { NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import type { Profile } from '../../orchestrator-stub/nodes/profile.ts';
import type { SiteSettings } from '../../orchestrator-stub/settings/site-settings.ts';
import type { Template } from '../../orchestrator-stub/workflow/built-in.ts';
import { KindlingError } from '../../protocol/error.ts';
import type { Json, SiteObject } from './site-object.ts';

/** What the orchestrator has now. */
export interface CurrentSite {
  settings: SiteSettings;
  profiles: Profile[];
  templates: Template[];
  nodes: NodeView[];
  workflows: { nodeId: string; template: string }[];
}

export interface Change {
  action: 'create' | 'update' | 'unchanged' | 'delete';
  kind: SiteObject['kind'];
  name: string;
  /** For people, a line each. */
  differences: string[];
  /** Undefined where nothing is to be done. */
  request?: { method: string; path: string; body?: unknown };
}

/** The order in which things can be made: each refers only to what stands before it. */
const ORDER: SiteObject['kind'][] = ['Template', 'Profile', 'Site', 'WorkflowRuleSet', 'Node', 'Workflow'];

export interface PlanOptions {
  /** Nodes and profiles with this label that no file has are deleted. */
  prune?: { name: string; value: string };
}

/** What must be changed for the site to be as the files say. */
export function planChanges(
  wanted: readonly SiteObject[],
  current: CurrentSite,
  { prune }: PlanOptions = {},
): Change[] {
  refuseDuplicates(wanted);
  const sorted = wanted.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  const rules = new RuleList(current.settings.enrollmentRules);
  const changes = sorted.map((object) => planOne(object, current, rules));
  return prune ? [...changes, ...planDeletions(wanted, current, prune)] : changes;
}

function planOne(object: SiteObject, current: CurrentSite, rules: RuleList): Change {
  switch (object.kind) {
    case 'Template':
      return planTemplate(object, current);
    case 'Profile':
      return planProfile(object, current);
    case 'Site':
      return planFields(object, current.settings, 'PATCH', '/api/v1/site');
    case 'WorkflowRuleSet':
      return rules.plan(object);
    case 'Node':
      return planNode(object, current);
    case 'Workflow':
      return planWorkflow(object, current);
  }
}

type Rules = SiteSettings['enrollmentRules'];

/** Rules are one list of the settings: each request has the whole list, with all that were planned before it. */
class RuleList {
  #rules: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  plan(object: SiteObject & { kind: 'WorkflowRuleSet' }): Change {
    const rule = object.body;
    const old = this.#rules.find(({ name }) => name === rule.name);
    this.#rules = old ? this.#rules.map((each) => (each === old ? rule : each)) : [...this.#rules, rule];
    const change = planFields({ ...object, body: { ...rule } }, old, 'PATCH', '/api/v1/site');
    const body = { enrollmentRules: this.#rules };
    return change.request ? { ...change, request: { ...change.request, body } } : change;
  }
}

function refuseDuplicates(wanted: readonly SiteObject[]): void {
  const seen = new Set<string>();
  for (const { kind, name } of wanted) {
    const key = `${kind} ${name}`;
    if (seen.has(key)) throw new KindlingError('KND_SITE_FILE_INVALID', `${key} is there twice`);
    seen.add(key);
  }
}

function planTemplate(object: SiteObject & { kind: 'Template' }, { templates }: CurrentSite): Change {
  const { kind, name, body } = object;
  const old = templates.find((each) => each.name === name && !each.isBuiltIn);
  if (old?.text === body.text) return { action: 'unchanged', kind, name, differences: [] };
  return {
    action: old ? 'update' : 'create',
    kind,
    name,
    differences: old ? changedLines(old.text, body.text) : [],
    request: { method: 'PUT', path: `/api/v1/templates/${encodeURIComponent(name)}`, body },
  };
}

function planProfile(object: SiteObject & { kind: 'Profile' }, { profiles }: CurrentSite): Change {
  const old = profiles.find(({ name }) => name === object.name);
  const change = planFields(object, old, 'PUT', `/api/v1/profiles/${encodeURIComponent(object.name)}`);
  return change.request ? { ...change, request: { ...change.request, body: object.body } } : change;
}

function planNode(object: SiteObject & { kind: 'Node' }, { nodes }: CurrentSite): Change {
  const { kind, name } = object;
  const { autoOnboard: _once, ...fields } = withNormalMac(object.body);
  const old = nodes.find(
    (node) =>
      node.isRegistered &&
      (node.name === name ||
        (['uuid', 'serial', 'mac'] as const).some(
          (key) =>
            typeof fields[key] === 'string' &&
            node.registeredAs[key]?.toLowerCase() === String(fields[key]).toLowerCase(),
        )),
  );
  if (old) {
    const path = `/api/v1/nodes/${encodeURIComponent(old.id)}`;
    return planFields(
      { kind, name, body: { name, ...fields } },
      { ...old, ...old.registeredAs },
      'PATCH',
      path,
    );
  }
  return {
    action: 'create',
    kind,
    name,
    differences: [],
    request: { method: 'POST', path: '/api/v1/nodes', body: { ...object.body, name } },
  };
}

function withNormalMac(body: Json): Json {
  const { mac } = body;
  return typeof mac === 'string' ? { ...body, mac: normalizeMac(mac) } : body;
}

/** A workflow is run once: where the node has had one of this template, the file has been applied before. */
function planWorkflow(object: SiteObject & { kind: 'Workflow' }, { nodes, workflows }: CurrentSite): Change {
  const { kind, name, body } = object;
  const wanted = body.node.toLowerCase();
  const node = nodes.find((each) => each.name.toLowerCase() === wanted || each.mac?.toLowerCase() === wanted);
  const hasRun = workflows.some(({ nodeId, template }) => nodeId === node?.id && template === body.template);
  if (hasRun) return { action: 'unchanged', kind, name, differences: [] };
  return {
    action: 'create',
    kind,
    name,
    differences: [],
    request: { method: 'POST', path: '/api/v1/workflows', body },
  };
}

function planDeletions(
  wanted: readonly SiteObject[],
  { nodes, profiles }: CurrentSite,
  { name: label, value }: { name: string; value: string },
): Change[] {
  const isWanted = (kind: SiteObject['kind'], name: string) =>
    wanted.some((each) => each.kind === kind && each.name === name);
  const deletion = (kind: 'Node' | 'Profile', name: string, path: string): Change => ({
    action: 'delete',
    kind,
    name,
    differences: [],
    request: { method: 'DELETE', path },
  });
  return [
    ...nodes
      .filter((node) => node.metadata[label] === value && !isWanted('Node', node.name))
      .map(({ id, name }) => deletion('Node', name, `/api/v1/nodes/${encodeURIComponent(id)}`)),
    ...profiles
      .filter((profile) => profile.metadata[label] === value && !isWanted('Profile', profile.name))
      .map(({ name }) => deletion('Profile', name, `/api/v1/profiles/${encodeURIComponent(name)}`)),
  ];
}

/** A change of those fields that the file has. */
function planFields(
  { kind, name, body }: { kind: SiteObject['kind']; name: string; body: Json },
  old: object | undefined,
  method: string,
  path: string,
): Change {
  if (!old) return { action: 'create', kind, name, differences: [], request: { method, path, body } };
  const before = new Map<string, unknown>(Object.entries(old));
  const changed = Object.entries(body).filter(([key, value]) => !isDeepStrictEqual(before.get(key), value));
  if (changed.length === 0) return { action: 'unchanged', kind, name, differences: [] };
  return {
    action: 'update',
    kind,
    name,
    differences: changed.map(
      ([key, value]) => `${key}: ${JSON.stringify(before.get(key) ?? null)} → ${JSON.stringify(value)}`,
    ),
    request: { method, path, body: Object.fromEntries(changed) },
  };
}

/** The lines between the first and the last that differ. */
function changedLines(before: string, after: string): string[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < Math.min(old.length, fresh.length) && old[start] === fresh[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, fresh.length) - start && old.at(-1 - end) === fresh.at(-1 - end)) end++;
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...fresh.slice(start, fresh.length - end).map((line) => `+ ${line}`),
  ];
}
