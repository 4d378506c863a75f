import { z } from 'zod';
import { AgentVariablesSchema } from '../settings/agent-variables.ts';

/** The programs that manage an installed system on behalf of the orchestrator (docs/background/emf.md#agents). */
export const AgentsSchema = z
  .strictObject({
    packages: z
      .array(z.string().regex(/^[a-z0-9][a-z0-9+.-]*(=[A-Za-z0-9.+:~-]+)?$/, 'a package, or package=version'))
      .max(100)
      .default([])
      .describe('Debian packages (MUTABLE); immutable images have their agents inside'),
    services: z
      .array(z.string().regex(/^[A-Za-z0-9@_:.-]{1,200}\.service$/, 'a name that ends in .service'))
      .max(100)
      .default([])
      .describe('Units that are started, and must stay up, before the node counts as running'),
    owner: z
      .string()
      .regex(/^[a-z_][a-z0-9_-]*:[a-z_][a-z0-9_-]*$/, 'user:group')
      .default('node-agent:bm-agents')
      .describe('Gets the credentials, where the system has that user'),
    variables: AgentVariablesSchema.default({}).describe(
      'For `/etc/edge-node/node/agent_variables`, beside and before those of the site',
    ),
    versions: AgentVariablesSchema.default({}).describe(
      'For `/etc/intel_edge_node/agent_versions` (MUTABLE), which EMF’s installer reads',
    ),
  })
  .meta({ id: 'Agents' });
