import { KindlingError } from '../../protocol/error.ts';
import type { HostId } from '../../protocol/ids.ts';
import { ulid } from '../store/identifiers.ts';
import { renderTemplate } from './go-template/render.ts';
import type { Flavor } from './go-template/tinkerbell-functions.ts';
import type { TemplateData } from './go-template/values.ts';
import { parseWorkflowTemplate } from './template.ts';
import type { WorkflowDefinition } from './workflow.ts';

export interface DefinitionInputs {
  id: string;
  hostId: HostId;
  generation: number;
  template: { name: string; text: string; flavor?: Flavor };
  /** What the template may refer to: the hardware map at the top level, as Tinkerbell has it. */
  data: { [key: string]: TemplateData };
  now: Date;
}

/** Values that a node says of itself. They are put into the text of a template, so they must not be able to change what it means. */
const NODE_VALUES = [
  'DeviceInfoHwSerialID',
  'DeviceInfoHwMacID',
  'DeviceInfoHwIP',
  'DeviceInfoGUID',
  'device_1',
  'worker_id',
];
/** Serials have spaces; what a colon and a space mean to YAML is left out, and every first or last character with a meaning. */
const PLAIN_VALUE = /^(?=.{0,200}$)(?!.*: )(?:[\w./+](?:[\w.:/+@ -]*[\w./+-])?)?$/;

export function isPlainValue(value: string): boolean {
  return PLAIN_VALUE.test(value);
}

/** Throws on a value of a node that could be read as YAML of its own. */
export function refuseStructure(name: string, value: unknown): void {
  if (Array.isArray(value)) for (const each of value) refuseStructure(name, each);
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) refuseStructure(name, each);
  else if (typeof value === 'string' && !isPlainValue(value))
    throw new KindlingError(
      'KND_TEMPLATE_INVALID',
      `${name}: the node’s value has characters that no such value has`,
    );
}

/** Renders a template, checks it, and lays its actions out in one row. */
export function defineWorkflow(inputs: DefinitionInputs): WorkflowDefinition {
  const { name, text, flavor } = inputs.template;
  for (const value of NODE_VALUES) refuseStructure(value, inputs.data[value]);
  const rendered = renderTemplate(text, inputs.data, { name, ...(flavor ? { flavor } : {}) });
  const rules = flavor === 'tink-0.10' ? flavor : 'tinkerbell-0.25';
  const template = parseWorkflowTemplate(rendered, name, rules);
  const time = inputs.now.getTime();
  const actions = template.tasks.flatMap((task) => {
    const taskId = ulid(time);
    return task.actions.map((action) => ({
      id: ulid(time),
      taskId,
      taskName: task.name,
      name: action.name,
      workerId: task.worker,
      image: action.image,
      timeout: action.timeout,
      command: action.command,
      volumes: [...task.volumes, ...action.volumes],
      environment: sortedEnvironment({ ...task.environment, ...action.environment }),
      pid: action.pid,
      network: action.network,
    }));
  });
  return {
    id: inputs.id,
    hostId: inputs.hostId,
    template: name,
    generation: inputs.generation,
    globalTimeout: template.globalTimeout,
    createdAt: inputs.now.toISOString(),
    actions,
  };
}

/** `K=V`, sorted byte by byte as Go's sort.Strings does. */
function sortedEnvironment(environment: Record<string, string>): string[] {
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${value}`)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}
