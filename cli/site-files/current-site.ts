import type { NodeView } from '../../orchestrator-stub/http/api/node-schemas.ts';
import { listNodes } from '../node/list.ts';
import type { ServerConnection } from '../server-connection.ts';
import type { CurrentSite } from './site-plan.ts';

/** Asks the orchestrator for all that files can say of a site. */
export async function readCurrentSite(connection: ServerConnection): Promise<CurrentSite> {
  const get = <T>(path: string) => connection.call<T>('GET', `/api/v1/${path}`);
  return {
    settings: await get<CurrentSite['settings']>('site'),
    profiles: (await get<Pick<CurrentSite, 'profiles'>>('profiles')).profiles,
    templates: (await get<Pick<CurrentSite, 'templates'>>('templates')).templates,
    nodes: await readNodes(connection),
    workflows: (await get<Pick<CurrentSite, 'workflows'>>('workflows')).workflows,
  };
}

/** The list has rows for people; what was registered is in the view of each node. */
async function readNodes(connection: ServerConnection): Promise<NodeView[]> {
  const nodes: NodeView[] = [];
  for (const { id } of await listNodes(connection, {}))
    nodes.push(await connection.call<NodeView>('GET', `/api/v1/nodes/${encodeURIComponent(id)}`));
  return nodes;
}
