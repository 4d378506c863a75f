import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import type { Nodes } from '../../nodes/nodes.ts';
import type { Provisioning } from '../../provisioning/provisioning.ts';
import { ulid } from '../../store/identifiers.ts';
import type { Store } from '../../store/store.ts';
import { defineWorkflow } from '../../workflow/definition.ts';
import { renderTemplate } from '../../workflow/go-template/render.ts';
import { hardwareData } from '../../workflow/hardware.ts';
import { parseWorkflowTemplate } from '../../workflow/template.ts';
import type { Templates } from '../../workflow/templates.ts';
import type { Workflows } from '../../workflow/workflows.ts';
import { WorkflowSchema, workflowView } from './workflow-schemas.ts';

export interface WorkflowRouteParts {
  store: Store;
  workflows: Workflows;
  templates: Templates;
  nodes: Nodes;
  provisioning: Provisioning;
  now: () => Date;
}

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/, 'letters, digits, dot, dash and underscore');
const TemplateSchema = z
  .object({ name: z.string(), isBuiltIn: z.boolean(), text: z.string() })
  .meta({ id: 'Template' });
const variables = z
  .record(z.string(), z.json())
  .default({})
  .describe('Texts, as in a hardware map; lists and mappings too');
const warnings = z
  .array(z.string())
  .describe('What a real Tinkerbell would refuse or overlook, with the version that does');
const hardware = z
  .looseObject({ spec: z.record(z.string(), z.json()).optional() })
  .optional()
  .describe('A Hardware object of Tinkerbell for “.Hardware”, instead of what is known of the node');

export function workflowRoutes({
  store,
  workflows,
  templates,
  nodes,
  provisioning,
  now,
}: WorkflowRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/v1/workflows',
      access: 'person',
      tag: 'workflows',
      operationId: 'listWorkflows',
      summary: 'Every workflow, the oldest first',
      query: z.object({ node: z.string().optional() }),
      answer: z.object({ workflows: z.array(WorkflowSchema) }),
      handle: async ({ query }) => {
        const nodeId = query.node ? (await nodes.find(query.node)).id : undefined;
        const all = await workflows.list();
        const wanted = all.filter(({ definition }) => !nodeId || definition.hostId === nodeId);
        return { workflows: wanted.map(workflowView) };
      },
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/workflows',
      access: 'person',
      tag: 'workflows',
      operationId: 'startWorkflow',
      summary: 'Run a template on a node, outside of its provisioning',
      status: 201,
      body: z.strictObject({
        node: z.string().min(1),
        template: name,
        variables,
        hardware,
        isPaused: z.boolean().default(false).describe('Prepare it only; "resume" lets it begin'),
      }),
      answer: WorkflowSchema,
      handle: ({ body }) =>
        store.transaction(async () => {
          const host = await nodes.find(body.node);
          const mac = host.reportedMac ?? host.mac ?? '';
          const definition = defineWorkflow({
            id: `workflow-${ulid(now().getTime()).toLowerCase()}`,
            hostId: host.id,
            generation: 0,
            template: await templates.get(body.template),
            data: {
              device_1: mac,
              DeviceInfoHwMacID: mac,
              ...(await provisioning.hardwareOf(host, body.hardware)),
              ...body.variables,
            },
            now: now(),
          });
          return workflowView(await workflows.add(definition, body.isPaused));
        }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/workflows/{id}',
      access: 'person',
      tag: 'workflows',
      operationId: 'getWorkflow',
      summary: 'One workflow with its actions',
      answer: WorkflowSchema,
      handle: async ({ path }) => workflowView(await workflows.get(path['id'] ?? '')),
    }),
    ...(
      [
        ['pause', 'Let the running action end, start no other', (id: string) => workflows.pause(id)],
        ['resume', 'Go on after a pause', (id: string) => workflows.resume(id)],
        ['cancel', 'End the workflow', (id: string) => workflows.cancel(id, 'canceled by the operator')],
      ] as const
    ).map(([verb, summary, act]) =>
      apiRoute({
        method: 'POST',
        path: `/api/v1/workflows/{id}/${verb}`,
        access: 'person',
        tag: 'workflows',
        operationId: `${verb}Workflow`,
        summary,
        answer: WorkflowSchema,
        handle: async ({ path }) => workflowView(await act(path['id'] ?? '')),
      }),
    ),
    apiRoute({
      method: 'POST',
      path: '/api/v1/workflows/{id}/retry',
      access: 'person',
      tag: 'workflows',
      operationId: 'retryWorkflow',
      summary: 'Begin again at the action that failed, as profile and template are today',
      query: z.object({
        asItWas: z.enum(['true', 'false']).default('false').describe('With the values of the failed try'),
      }),
      answer: WorkflowSchema,
      waits: true,
      handle: async ({ path, query, commit }) => {
        const asItWas = query.asItWas === 'true';
        return workflowView(await provisioning.retry(path['id'] ?? '', { asItWas, commit }));
      },
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/workflows/{id}/approve',
      access: 'person',
      tag: 'workflows',
      operationId: 'approvePlan',
      summary: 'Consent to the plan an action waits with, and let it go on',
      body: z.strictObject({
        plan: z.string().regex(/^[0-9a-f]{12,64}$/, 'the hash of the plan, or its first 12 digits or more'),
      }),
      answer: WorkflowSchema,
      handle: async ({ path, body }) => workflowView(await workflows.approve(path['id'] ?? '', body.plan)),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/templates',
      access: 'person',
      tag: 'templates',
      operationId: 'listTemplates',
      summary: 'Every workflow template, the built-in ones included',
      answer: z.object({ templates: z.array(TemplateSchema) }),
      handle: async () => ({ templates: await templates.list() }),
    }),
    apiRoute({
      method: 'PUT',
      path: '/api/v1/templates/{name}',
      access: 'person',
      tag: 'templates',
      operationId: 'putTemplate',
      summary: 'Add or replace a template; a built-in one is overlaid',
      body: z.strictObject({ text: z.string().min(1).max(1_000_000) }),
      answer: TemplateSchema.extend({ warnings }),
      handle: async ({ path, body }) => {
        const template = await templates.put(path['name'] ?? '', body.text);
        await provisioning.catchUp(); // nodes may wait for it to be corrected
        return template;
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: '/api/v1/templates/{name}',
      access: 'person',
      tag: 'templates',
      operationId: 'deleteTemplate',
      summary: 'Remove a template; a built-in one comes back to light',
      status: 204,
      answer: z.void(),
      handle: ({ path }) => templates.delete(path['name'] ?? ''),
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/templates/{name}/render',
      access: 'person',
      tag: 'templates',
      operationId: 'renderTemplate',
      summary: 'Render a template with values and check the outcome, without running it',
      body: z.strictObject({ variables, hardware }),
      answer: z.object({ text: z.string(), actions: z.number(), warnings }),
      handle: async ({ path, body }) => {
        const template = await templates.get(path['name'] ?? '');
        const data = { ...hardwareData(body.hardware ?? {}), ...body.variables };
        const text = renderTemplate(template.text, data, { name: template.name });
        const { tasks, warnings: told } = parseWorkflowTemplate(text, template.name);
        return { text, actions: tasks.reduce((sum, task) => sum + task.actions.length, 0), warnings: told };
      },
    }),
  ];
}
