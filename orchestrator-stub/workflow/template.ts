import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { KindlingError } from '../../protocol/error.ts';

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
}

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
/** A Docker reference: [host[:port]/]path[:tag][@digest]. */
const IMAGE_PATTERN =
  /^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d+)?\/)?[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$/;

/** Reads and checks the YAML of a rendered template. Every fault is listed with its line. */
export function parseWorkflowTemplate(text: string, name: string): WorkflowTemplate {
  return new TemplateReader(text, name).read();
}

/**
 * Keys that no template has, found before there are values to render with. A template that puts YAML together from values
 * cannot be judged that early; it is when it is rendered.
 */
export function refuseUnknownKeys(text: string, name: string): void {
  // Each {{…}} keeps its lines, so that line numbers stay right: alone on a line it controls, elsewhere it is a value.
  const keepLines = (action: string, value: string) => value + '\n'.repeat(action.split('\n').length - 1);
  const sketch = text
    .replaceAll(/^[ \t]*\{\{[\s\S]*?\}\}[ \t]*$/gm, (action) => keepLines(action, ''))
    .replaceAll(/\{\{[\s\S]*?\}\}/g, (action) => keepLines(action, '1'));
  try {
    parseWorkflowTemplate(sketch, name);
  } catch (thrown) {
    if (!(thrown instanceof KindlingError)) throw thrown;
    const errors = (thrown.evidence?.['errors'] ?? []) as { line: number; message: string }[];
    const unknown = errors.filter(({ message }) => message.includes(' has no key "'));
    if (unknown.length > 0) throw faulty(name, unknown);
  }
}

function faulty(name: string, faults: { line: number; message: string }[]): KindlingError {
  const sorted = faults.toSorted((a, b) => a.line - b.line);
  const list = sorted.map(({ line, message }) => `line ${line}: ${message}`).join('; ');
  return new KindlingError('KND_TEMPLATE_INVALID', `template ${name}: ${list}`, {
    evidence: { errors: sorted },
  });
}

class TemplateReader {
  readonly #lines = new LineCounter();
  readonly #faults: { line: number; message: string }[] = [];
  readonly #text: string;
  readonly #name: string;

  constructor(text: string, name: string) {
    this.#text = text;
    this.#name = name;
  }

  read(): WorkflowTemplate {
    const document = parseDocument(this.#text, { lineCounter: this.#lines, strict: true, uniqueKeys: true });
    for (const error of document.errors) {
      this.#faults.push({ line: error.linePos?.[0].line ?? 1, message: error.message.split('\n')[0] ?? '' });
    }
    this.#refuseIfFaulty();
    const top = document.contents;
    if (!isMap(top)) {
      this.#fault(top, 'a template is a mapping with «tasks»');
      return this.#refuse();
    }
    this.#knownKeys(top, TOP_KEYS, 'template');
    const name = this.#scalar(top, 'name', '');
    if (top.has('name')) this.#checkName(name, top, 'template');
    const tasks = this.#list(top, 'tasks').map((node) => this.#task(node));
    if (tasks.length === 0) this.#fault(top, 'a template needs at least one task');
    this.#unique(tasks, 'task', top);
    const template = { name, globalTimeout: this.#seconds(top, 'global_timeout'), tasks };
    this.#refuseIfFaulty();
    return template;
  }

  #task(node: unknown): TaskTemplate {
    const task = { name: '', worker: '', volumes: [], environment: {}, actions: [] };
    if (!isMap(node)) {
      this.#fault(node, 'a task is a mapping');
      return task;
    }
    this.#knownKeys(node, TASK_KEYS, 'task');
    const name = this.#scalar(node, 'name', '');
    this.#checkName(name, node, 'task');
    const worker = this.#scalar(node, 'worker', '');
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

  #action(node: unknown): ActionTemplate {
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
    if (!isMap(node)) {
      this.#fault(node, 'an action is a mapping');
      return empty;
    }
    this.#knownKeys(node, ACTION_KEYS, 'action');
    const name = this.#scalar(node, 'name', '');
    this.#checkName(name, node, 'action');
    const image = this.#scalar(node, 'image', '');
    if (!IMAGE_PATTERN.test(image)) {
      this.#fault(node.get('image', true) ?? node, `action "${name}" has an invalid image "${image}"`);
    }
    const namespaces = node.get('namespaces', true);
    const inner = isMap(namespaces) ? namespaces : undefined;
    if (inner) this.#knownKeys(inner, ['network', 'pid'], 'namespaces');
    return {
      name,
      image,
      timeout: this.#seconds(node, 'timeout'),
      command: this.#texts(node, 'command'),
      volumes: this.#texts(node, 'volumes'),
      environment: this.#environment(node),
      pid: (inner && this.#scalar(inner, 'pid', '')) || this.#scalar(node, 'pid', ''),
      network: inner ? this.#scalar(inner, 'network', '') : '',
    };
  }

  /** Scalars such as 0600 and true are taken as they are written. */
  #environment(map: YAMLMap): Record<string, string> {
    const node = map.get('environment', true);
    if (node === undefined || isEmpty(node)) return {};
    if (!isMap(node)) {
      this.#fault(node, '«environment» is a mapping of names to texts');
      return {};
    }
    const entries: [string, string][] = [];
    for (const pair of node.items) {
      if (isScalar(pair.key) && (pair.value === null || isScalar(pair.value))) {
        entries.push([written(pair.key), pair.value === null ? '' : written(pair.value)]);
      } else {
        this.#fault(pair.key, 'a value of «environment» must be a text');
      }
    }
    return Object.fromEntries(entries);
  }

  #scalar(map: YAMLMap, key: string, fallback: string): string {
    const node = map.get(key, true) as unknown;
    if (node === undefined || isEmpty(node)) return fallback;
    if (isScalar(node)) return written(node);
    this.#fault(node, `«${key}» must be a text`);
    return fallback;
  }

  #seconds(map: YAMLMap, key: string): number {
    const text = this.#scalar(map, key, '0');
    const value = Number(text);
    if (Number.isInteger(value) && value >= 0) return value;
    this.#fault(map.get(key, true), `«${key}» must be a whole number of seconds, not "${text}"`);
    return 0;
  }

  #list(map: YAMLMap, key: string): unknown[] {
    const node = map.get(key, true) as unknown;
    if (node === undefined || isEmpty(node)) return [];
    if (isSeq(node)) return node.items;
    this.#fault(node, `«${key}» must be a list`);
    return [];
  }

  #texts(map: YAMLMap, key: string): string[] {
    return this.#list(map, key).flatMap((node) => {
      if (isScalar(node)) return [written(node)];
      this.#fault(node, `«${key}» must be a list of texts`);
      return [];
    });
  }

  #knownKeys(map: YAMLMap, known: readonly string[], what: string): void {
    for (const { key } of map.items) {
      const name = isScalar(key) ? String(key.value) : '?';
      if (!known.includes(name)) this.#fault(key, `a ${what} has no key "${name}"`);
    }
  }

  #checkName(name: string, node: unknown, what: string): void {
    const bytes = Buffer.byteLength(name);
    if (bytes < 1 || bytes > MAX_NAME_BYTES) {
      this.#fault(node, `a ${what} needs a name of 1 to ${MAX_NAME_BYTES} bytes, this one has ${bytes}`);
    }
  }

  #unique(named: readonly { name: string }[], what: string, node: unknown): void {
    const names = named.map(({ name }) => name);
    for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index))) {
      this.#fault(
        node,
        `two ${what}s are called "${name}"`.replace(/(action) (of task ".*")s are/, '$1s $2 are'),
      );
    }
  }

  #fault(node: unknown, message: string): void {
    const offset = (node as Node | null)?.range?.[0] ?? 0;
    this.#faults.push({ line: this.#lines.linePos(offset).line || 1, message });
  }

  #refuseIfFaulty(): void {
    if (this.#faults.length > 0) this.#refuse();
  }

  #refuse(): never {
    throw faulty(this.#name, this.#faults);
  }
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

/** The text of a scalar as it stands in the file: 0600 stays 0600. */
function written(node: Scalar): string {
  if (typeof node.value === 'string') return node.value;
  return node.source ?? String(node.value ?? '');
}
