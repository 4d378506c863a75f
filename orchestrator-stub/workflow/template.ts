import { KindlingError } from '../../protocol/error.ts';
import { readGoYaml, wholeNumber, type YamlEntry, type YamlFault, type YamlValue } from './go-yaml.ts';

/** A Tinkerbell template after rendering. */
export interface TaskTemplate {
  name: string;
  worker: string;
  volumes: string[];
  environment: Record<string, string>;
  actions: ActionTemplate[];
}

export interface ActionTemplate {
  name: string;
  image: string;
  /** Seconds; 0 = none given. */
  timeout: number;
  command: string[];
  volumes: string[];
  environment: Record<string, string>;
  pid: string;
  network: string;
}

export interface WorkflowTemplate {
  name: string;
  /** Seconds; 0 = none. */
  globalTimeout: number;
  tasks: TaskTemplate[];
  /** What a real Tinkerbell would refuse or overlook, with the version that does. */
  warnings: string[];
}

/** Which server's rules a template is read by: tink up to 0.10 refuses keys that it does not know (UnmarshalStrict), 0.12 and later overlook them. */
export type TemplateRules = 'tink-0.10' | 'tinkerbell-0.25';

const TOP_KEYS = ['version', 'name', 'id', 'global_timeout', 'tasks'];
const TASK_KEYS = ['name', 'worker', 'volumes', 'environment', 'actions'];
const ACTION_KEYS = [
  'name',
  'image',
  'timeout',
  'command',
  'on-timeout',
  'on-failure',
  'volumes',
  'environment',
  'pid',
  'namespaces',
];
const MAX_NAME_BYTES = 199;
/** What Tinkerbell 0.25 lets a template become. */
const TINKERBELL_LIMIT = 256 * 1024;
/** A Docker reference: [host[:port]/]path[:tag][@digest]; a host may be an IPv6 address in brackets. */
const IMAGE_PATTERN =
  /^(?:(?:\[[a-fA-F0-9:]+\]|(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*)(?::\d+)?\/)?[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$/;

/** Reads and checks the YAML of a rendered template as Go reads it. Every fault is listed with its line. */
export function parseWorkflowTemplate(
  text: string,
  name: string,
  rules: TemplateRules = 'tinkerbell-0.25',
): WorkflowTemplate {
  return new TemplateReader(text, name, rules).read();
}

/**
 * What can be said of a template before there are values to render with: keys that no template has. One that puts YAML
 * together from values cannot be judged that early; it is when it is rendered.
 */
export function warnOfUnknownKeys(text: string, name: string): string[] {
  // Each {{…}} keeps its lines, so that line numbers stay right: alone on a line it controls, elsewhere it is a value.
  const keepLines = (action: string, value: string) => value + '\n'.repeat(action.split('\n').length - 1);
  const sketch = text
    .replaceAll(/^[ \t]*\{\{[\s\S]*?\}\}[ \t]*$/gm, (action) => keepLines(action, ''))
    .replaceAll(/\{\{[\s\S]*?\}\}/g, (action) => keepLines(action, '1'));
  return new TemplateReader(sketch, name, 'tinkerbell-0.25').unknownKeys();
}

function faulty(name: string, faults: { line: number; message: string }[]): KindlingError {
  const sorted = faults.toSorted((a, b) => a.line - b.line);
  const list = sorted.map(({ line, message }) => `line ${line}: ${message}`).join('; ');
  return new KindlingError('KND_TEMPLATE_INVALID', `template ${name}: ${list}`, {
    evidence: { errors: sorted },
  });
}

class TemplateReader {
  readonly #faults: YamlFault[] = [];
  readonly #warnings: string[] = [];
  readonly #text: string;
  readonly #name: string;
  readonly #rules: TemplateRules;

  constructor(text: string, name: string, rules: TemplateRules) {
    this.#text = text;
    this.#name = name;
    this.#rules = rules;
  }

  read(): WorkflowTemplate {
    const template = this.#template();
    if (this.#faults.length > 0 || !template) throw faulty(this.#name, this.#faults);
    const bytes = Buffer.byteLength(this.#text);
    if (bytes > TINKERBELL_LIMIT)
      this.#warnings.push(`it has ${bytes} bytes; Tinkerbell 0.25 takes ${TINKERBELL_LIMIT}`);
    return template;
  }

  unknownKeys(): string[] {
    this.#template();
    return this.#warnings.filter((warning) => warning.includes(' has no key "'));
  }

  #template(): WorkflowTemplate | undefined {
    const { root, faults } = readGoYaml(this.#text);
    this.#faults.push(...faults);
    if (faults.length > 0) return undefined;
    if (root?.kind !== 'map') {
      this.#fault(root, 'a template is a mapping with “tasks”');
      return undefined;
    }
    this.#knownKeys(root, TOP_KEYS, 'template');
    const name = this.#scalar(root, 'name');
    if (name) this.#checkName(name, root, 'template');
    else this.#warnings.push('it has no name; Tinkerbell refuses that');
    const tasks = this.#list(root, 'tasks').map((task) => this.#task(task));
    if (tasks.length === 0) this.#fault(root, 'a template needs at least one task');
    this.#unique(tasks, 'task', root);
    return { name, globalTimeout: this.#seconds(root, 'global_timeout'), tasks, warnings: this.#warnings };
  }

  #task(node: YamlValue): TaskTemplate {
    const task = { name: '', worker: '', volumes: [], environment: {}, actions: [] };
    if (node.kind !== 'map') {
      this.#fault(node, 'a task is a mapping');
      return task;
    }
    this.#knownKeys(node, TASK_KEYS, 'task');
    const name = this.#scalar(node, 'name');
    this.#checkName(name, node, 'task');
    const worker = this.#scalar(node, 'worker');
    if (!worker) this.#fault(node, `task "${name}" has no worker`);
    const actions = this.#list(node, 'actions').map((action) => this.#action(action));
    if (actions.length === 0) this.#fault(node, `task "${name}" has no actions`);
    this.#unique(actions, `action of task "${name}"`, node);
    return {
      name,
      worker,
      volumes: this.#texts(node, 'volumes'),
      environment: this.#environment(node),
      actions,
    };
  }

  #action(node: YamlValue): ActionTemplate {
    const empty: ActionTemplate = {
      name: '',
      image: '',
      timeout: 0,
      command: [],
      volumes: [],
      environment: {},
      pid: '',
      network: '',
    };
    if (node.kind !== 'map') {
      this.#fault(node, 'an action is a mapping');
      return empty;
    }
    this.#knownKeys(node, ACTION_KEYS, 'action');
    const name = this.#scalar(node, 'name');
    this.#checkName(name, node, 'action');
    const image = this.#scalar(node, 'image');
    if (!IMAGE_PATTERN.test(image)) {
      this.#fault(childOf(node, 'image') ?? node, `action "${name}" has an invalid image "${image}"`);
    }
    const namespaces = childOf(node, 'namespaces');
    const inner = namespaces?.kind === 'map' ? namespaces : undefined;
    if (inner) this.#knownKeys(inner, ['network', 'pid'], 'namespaces');
    return {
      name,
      image,
      timeout: this.#seconds(node, 'timeout'),
      command: this.#texts(node, 'command'),
      volumes: this.#texts(node, 'volumes'),
      environment: this.#environment(node),
      pid: (inner && this.#scalar(inner, 'pid')) || this.#scalar(node, 'pid'),
      network: inner ? this.#scalar(inner, 'network') : '',
    };
  }

  /** Scalars such as 0600 and true are taken as they are written. */
  #environment(map: YamlMap): Record<string, string> {
    const node = childOf(map, 'environment');
    if (!node || isNull(node)) return {};
    if (node.kind !== 'map') {
      this.#fault(node, '“environment” is a mapping of names to texts');
      return {};
    }
    const entries: [string, string][] = [];
    for (const { key, line, value } of node.entries) {
      if (value.kind === 'scalar') entries.push([key, value.text]);
      else this.#fault({ line }, 'a value of “environment” must be a text');
    }
    return Object.fromEntries(entries);
  }

  #scalar(map: YamlMap, key: string): string {
    const node = childOf(map, key);
    if (!node) return '';
    if (node.kind === 'scalar') return node.text;
    this.#fault(node, `“${key}” must be a text`);
    return '';
  }

  #seconds(map: YamlMap, key: string): number {
    const node = childOf(map, key);
    if (!node || isNull(node)) return 0;
    const text = this.#scalar(map, key);
    const value = node.kind === 'scalar' && node.type === 'number' ? wholeNumber(text) : undefined;
    if (value !== undefined && Number.isSafeInteger(value) && value >= 0) return value;
    this.#fault(node, `“${key}” must be a whole number of seconds, not "${text}"`);
    return 0;
  }

  #list(map: YamlMap, key: string): YamlValue[] {
    const node = childOf(map, key);
    if (!node || isNull(node)) return [];
    if (node.kind === 'list') return node.items;
    this.#fault(node, `“${key}” must be a list`);
    return [];
  }

  #texts(map: YamlMap, key: string): string[] {
    return this.#list(map, key).flatMap((node) => {
      if (node.kind === 'scalar') return [node.text];
      this.#fault(node, `“${key}” must be a list of texts`);
      return [];
    });
  }

  #knownKeys(map: YamlMap, known: readonly string[], what: string): void {
    for (const { key, line } of map.entries) {
      if (known.includes(key)) continue;
      const unknown = `${what === 'action' ? 'an' : 'a'} ${what} has no key "${key}"`;
      if (this.#rules === 'tink-0.10') this.#fault({ line }, unknown);
      else
        this.#warnings.push(
          `line ${line}: ${unknown}; Tinkerbell 0.25 overlooks it, tink up to 0.10 refuses it`,
        );
    }
  }

  #checkName(name: string, node: YamlValue, what: string): void {
    const bytes = Buffer.byteLength(name);
    if (bytes < 1 || bytes > MAX_NAME_BYTES) {
      this.#fault(node, `a ${what} needs a name of 1 to ${MAX_NAME_BYTES} bytes, this one has ${bytes}`);
    }
  }

  #unique(named: readonly { name: string }[], what: string, node: YamlValue): void {
    const names = named.map(({ name }) => name);
    for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index))) {
      this.#fault(
        node,
        `two ${what}s are called "${name}"`.replace(/(action) (of task ".*")s are/, '$1s $2 are'),
      );
    }
  }

  #fault(node: { line: number } | undefined, message: string): void {
    this.#faults.push({ line: node?.line ?? 1, message });
  }
}

type YamlMap = YamlValue & { kind: 'map' };

function childOf({ entries }: { entries: YamlEntry[] }, key: string): YamlValue | undefined {
  return entries.find((entry) => entry.key === key)?.value;
}

function isNull(node: YamlValue): boolean {
  return node.kind === 'scalar' && node.type === 'null';
}
