import type { FloorNode } from '../../protocol/floor.ts';
import type { ActionName } from '../words/action-table.ts';
import { call } from './call.ts';

export interface ActionDetails {
  profile?: string;
  name?: string;
}

/** Does it. The row changes by the event that follows, not by the answer. */
export async function act(action: ActionName, node: FloorNode, details: ActionDetails = {}): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(node.id)}`;
  const workflow = `/api/v1/workflows/${encodeURIComponent(node.workflowId ?? '')}`;
  const profile = details.profile ? { profile: details.profile } : {};
  switch (action) {
    case 'retry':
    case 'resume':
    case 'pause':
    case 'cancel':
      return call('POST', `${workflow}/${action}`);
    case 'approve':
      return call('POST', `${workflow}/approve`, { json: { plan: node.plan } });
    case 'onboard':
      return call('POST', `${path}/onboard`);
    case 'provision':
    case 'reprovision':
      return call('POST', `${path}/${action}`, { json: profile });
    case 'deauthorize':
      return call('POST', `${path}/deauthorise`);
    case 'delete':
      return call('DELETE', path);
    case 'register':
      return call('POST', '/api/v1/nodes', {
        json: {
          ...(details.name ? { name: details.name } : {}),
          ...(node.uuid ? { uuid: node.uuid } : {}),
          ...(node.serial ? { serial: node.serial } : {}),
          ...(node.macs[0] ? { mac: node.macs[0] } : {}),
          ...profile,
          autoOnboard: true,
        },
      });
  }
}
