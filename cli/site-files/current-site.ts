import type { ServerConnection } from '../server-connection.ts';
import type { CurrentSite } from './site-plan.ts';

/** Asks the orchestrator for all that files can say of a site. */
export async function readCurrentSite(connection: ServerConnection): Promise<CurrentSite> {
  const get = <T>(path: string) => connection.call<T>('GET', `/api/v1/${path}`);
  return {
    settings: await get<CurrentSite['settings']>('site'),
    profiles: (await get<Pick<CurrentSite, 'profiles'>>('profiles')).profiles,
    templates: (await get<Pick<CurrentSite, 'templates'>>('templates')).templates,
    nodes: (await get<Pick<CurrentSite, 'nodes'>>('nodes')).nodes,
    workflows: (await get<Pick<CurrentSite, 'workflows'>>('workflows')).workflows,
  };
}
