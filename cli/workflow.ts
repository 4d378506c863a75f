import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { isCollection, parseAllDocuments, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { WorkflowSchema } from '../orchestrator-stub/http/api/workflow-schemas.ts';
import type { Template } from '../orchestrator-stub/workflow/built-in.ts';
import { KindlingError } from '../protocol/error.ts';
import { silenceOf } from './node/silence.ts';
import { type ConnectionOptions, ServerConnection, withConnection } from './server-connection.ts';
import { formatFields, formatTable } from './table.ts';

type Workflow = z.output<typeof WorkflowSchema>;

/** `kindling workflow …`: what nodes are told to do, and how far they are. */
export function defineWorkflowCommand(command: Command): void {
  withConnection(command.command('list').description('every workflow'))
    .option('--node <node>', 'of one node only')
    .action(list);
  withConnection(command.command('show <workflow>').description('one workflow with its actions')).action(
    show,
  );
  for (const [verb, summary] of [
    ['pause', 'let the running action end, start no other'],
    ['resume', 'go on after a pause'],
    ['cancel', 'end it'],
  ] as const) {
    withConnection(command.command(`${verb} <workflow>`).description(summary)).action(
      async (id: string, options: ConnectionOptions) => {
        const path = `/api/v1/workflows/${encodeURIComponent(id)}/${verb}`;
        print(await new ServerConnection(options).call<Workflow>('POST', path), options);
      },
    );
  }
  withConnection(
    command
      .command('retry <workflow>')
      .description('begin again at the action that failed, as profile and template are today'),
  )
    .option('--as-it-was', 'with the values of the failed try')
    .action(async (id: string, options: ConnectionOptions & { asItWas?: boolean }) => {
      const query = options.asItWas ? '?asItWas=true' : '';
      const path = `/api/v1/workflows/${encodeURIComponent(id)}/retry${query}`;
      print(await new ServerConnection(options).call<Workflow>('POST', path), options);
    });
  withConnection(
    command
      .command('approve <workflow> <plan>')
      .description(
        'consent to the plan an action waits with (“show” says what it destroys), and let it go on',
      ),
  ).action(async (id: string, plan: string, options: ConnectionOptions) => {
    const path = `/api/v1/workflows/${encodeURIComponent(id)}/approve`;
    print(await new ServerConnection(options).call<Workflow>('POST', path, { plan }), options);
  });
  withConnection(command.command('start <node> <template>').description('run a template on a node'))
    .option(
      '--set <name=value>',
      'a value for the template, a text or a list or mapping in YAML; may be repeated',
      collectValue,
      {},
    )
    .option('--hardware <file>', 'a Hardware object of Tinkerbell, instead of what is known of the node')
    .option('--paused', 'prepare it only; "resume" lets it begin')
    .action(start);
  withConnection(command.command('templates').description('every template')).action(templates);
  withConnection(command.command('template <name>').description('print a template, or add one'))
    .option('--file <file>', 'add or replace it from this file')
    .option('--delete', 'remove it')
    .action(template);
}

async function list(options: ConnectionOptions & { node?: string }): Promise<void> {
  const query = options.node ? `?node=${encodeURIComponent(options.node)}` : '';
  const { workflows } = await new ServerConnection(options).call<{ workflows: Workflow[] }>(
    'GET',
    `/api/v1/workflows${query}`,
  );
  if (options.output === 'json') {
    console.log(JSON.stringify(workflows, null, 2));
    return;
  }
  console.log(
    formatTable(workflows, [
      ['ID', ({ id }) => id],
      ['NODE', ({ nodeId }) => nodeId],
      ['TEMPLATE', ({ template }) => template],
      ['STATE', stateOf],
      ['STEP', ({ current, actions }) => `${Math.min(current + 1, actions.length)}/${actions.length}`],
      ['ACTION', ({ current, actions }) => actions[current]?.name ?? ''],
    ]),
  );
}

async function show(id: string, options: ConnectionOptions): Promise<void> {
  print(
    await new ServerConnection(options).call<Workflow>('GET', `/api/v1/workflows/${encodeURIComponent(id)}`),
    options,
  );
}

async function start(
  node: string,
  name: string,
  options: ConnectionOptions & { set: Record<string, unknown>; hardware?: string; paused?: boolean },
): Promise<void> {
  const body = {
    node,
    template: name,
    variables: options.set,
    ...(options.hardware === undefined ? {} : { hardware: readHardware(options.hardware) }),
    isPaused: options.paused ?? false,
  };
  print(await new ServerConnection(options).call<Workflow>('POST', '/api/v1/workflows', body), options);
}

async function templates(options: ConnectionOptions): Promise<void> {
  const all = await allTemplates(options);
  if (options.output === 'json') {
    console.log(JSON.stringify(all, null, 2));
    return;
  }
  console.log(
    formatTable(all, [
      ['NAME', ({ name }) => name],
      ['ORIGIN', ({ isBuiltIn }) => (isBuiltIn ? 'built in' : 'own')],
    ]),
  );
}

async function template(
  name: string,
  options: ConnectionOptions & { file?: string; delete?: boolean },
): Promise<void> {
  const connection = new ServerConnection(options);
  const path = `/api/v1/templates/${encodeURIComponent(name)}`;
  if (options.delete) {
    await connection.call('DELETE', path);
    console.log(`removed template ${name}`);
  } else if (options.file) {
    const text = readFileSync(options.file, 'utf8');
    const { warnings } = await connection.call<{ warnings: string[] }>('PUT', path, { text });
    console.log(`saved template ${name}`);
    for (const warning of warnings) console.error(`warning: ${warning}`);
  } else {
    const found = (await allTemplates(options)).find((each) => each.name === name);
    if (!found) throw new KindlingError('KND_TEMPLATE_UNKNOWN', `there is no template ${name}`);
    console.log(options.output === 'json' ? JSON.stringify(found, null, 2) : found.text);
  }
}

async function allTemplates(options: ConnectionOptions): Promise<Template[]> {
  return (await new ServerConnection(options).call<{ templates: Template[] }>('GET', '/api/v1/templates'))
    .templates;
}

function print(workflow: Workflow, options: ConnectionOptions): void {
  if (options.output === 'json') {
    console.log(JSON.stringify(workflow, null, 2));
    return;
  }
  const fields = formatFields([
    ['id', workflow.id],
    ['node', workflow.nodeId],
    ['template', workflow.template],
    ['state', stateOf(workflow)],
    ['message', workflow.message],
    ['to approve', workflow.planToApprove],
    ['started', workflow.startedAt],
    ['finished', workflow.finishedAt],
  ]);
  const actions = formatTable(workflow.actions, [
    ['ACTION', ({ name }) => name],
    ['STATE', ({ state, attempt }) => (attempt > 1 ? `${state} (attempt ${attempt})` : state)],
    ['SECONDS', ({ seconds, state }) => (state === 'PENDING' || state === 'RUNNING' ? null : seconds)],
    ['MESSAGE', messageOf],
  ]);
  console.log(`${fields}\n\n${actions}`);
}

function messageOf({ message, state, heardAt }: Workflow['actions'][number]): string {
  const silence =
    state === 'RUNNING' && heardAt !== undefined ? silenceOf(Date.parse(heardAt), Date.now()) : '';
  return [message, silence].filter(Boolean).join(' · ');
}

function stateOf({ state, isPaused }: Workflow): string {
  return isPaused ? `${state}, paused` : state;
}

/** The Hardware object of a file, which may hold others beside it. */
function readHardware(file: string): unknown {
  const objects = parseAllDocuments(readFileSync(file, 'utf8'));
  const documents = Array.isArray(objects) ? objects : [];
  const [wrong] = documents.flatMap(({ errors }) => errors);
  if (wrong)
    throw new KindlingError('KND_HARDWARE_INVALID', `${file}: ${wrong.message.split('\n')[0] ?? ''}`);
  const found = documents.filter((document) => document.get('kind') === 'Hardware');
  if (found.length !== 1)
    throw new KindlingError(
      'KND_HARDWARE_INVALID',
      `${file} has ${found.length} objects of the kind Hardware; it must have one`,
    );
  return found[0]?.toJS();
}

/** Values of a hardware map are texts; what is written as a list or mapping is one. */
function collectValue(text: string, previous: Record<string, unknown>): Record<string, unknown> {
  const at = text.indexOf('=');
  if (at < 1) throw new KindlingError('KND_USAGE', `--set takes name=value, not ${text}`);
  const value = text.slice(at + 1);
  const structure: unknown = /^\s*[[{]/.test(value) ? readStructure(value) : undefined;
  return { ...previous, [text.slice(0, at)]: structure ?? value };
}

/** Undefined where it only looks like YAML. */
function readStructure(text: string): unknown {
  const document = parseDocument(text);
  return document.errors.length === 0 && isCollection(document.contents) ? document.toJS() : undefined;
}
