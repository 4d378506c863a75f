import type { Operation } from '../../net/server/http-server.ts';
import type { ApiRoute, RawRoute } from '../../net/server/route.ts';
import type { AuditEntry } from '../../protocol/audit.ts';
import { toKindlingError } from '../../protocol/error.ts';
import type { Person } from '../../protocol/people.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { differenceOf, oneLine } from '../audit/difference.ts';
import type { Host } from '../nodes/host.ts';
import { rightOf } from '../people/rights.ts';
import type { Store } from '../store/store.ts';
import { nodeView } from './api/node-view.ts';
import type { ApiParts } from './api/routes.ts';
import { workflowView } from './api/workflow-schemas.ts';

export type AuditParts = ApiParts & { store: Store; audit: AuditLog; now: () => Date };

/** What an operation is done to. */
interface Subject {
  host?: Host | undefined;
  record?: unknown;
}

/** Operations of people that change something, and those that read a secret. */
function isAudited(route: ApiRoute | RawRoute): boolean {
  if (route.access !== 'person') return false;
  const right = rightOf(route);
  return right === 'secrets:read' || !right?.endsWith(':read');
}

/**
 * Does the work of an operation and writes its line in the same transaction: neither is there without the other. What was refused
 * gets a line by itself.
 */
export async function performAudited<T>(
  parts: AuditParts,
  operation: Operation,
  work: () => Promise<T>,
): Promise<T> {
  const { route, person, client } = operation;
  if (!person || !isAudited(route)) return work();
  const base = entryOf(parts, route, person, client, targetOf(operation));
  let host: Host | undefined;
  try {
    return await parts.store.transaction(async () => {
      const before = await subjectOf(parts, operation);
      host = before.host;
      const result = await work();
      const after = await subjectOf(parts, operation, { result, host });
      await parts.audit.append({
        ...base,
        ...nodeOf(before.host ?? after.host),
        ...differenceOf(before.record, after.record),
        result: 'done',
      });
      return result;
    });
  } catch (thrown) {
    await noteRefusal(parts, { ...base, ...nodeOf(host) }, thrown);
    throw thrown;
  }
}

/** Somebody tried what the role does not allow. */
export async function noteForbidden(
  parts: AuditParts,
  route: ApiRoute | RawRoute,
  person: Person,
  client: string,
  refusal: unknown,
): Promise<void> {
  if (isAudited(route)) await noteRefusal(parts, entryOf(parts, route, person, client, route.path), refusal);
}

/** Nothing has changed, so the answer is the refusal itself, also where its line cannot be written. */
async function noteRefusal(
  { audit }: AuditParts,
  entry: Omit<AuditEntry, 'result'>,
  thrown: unknown,
): Promise<void> {
  await audit.append({ ...entry, result: toKindlingError(thrown).code }).catch(() => {});
}

function entryOf(
  { now }: AuditParts,
  route: ApiRoute | RawRoute,
  { name, role }: Person,
  from: string,
  target: string,
): Omit<AuditEntry, 'result'> {
  const action = 'operationId' in route ? route.operationId : `${route.method} ${route.path}`;
  return { at: now().toISOString(), who: name, role, from, action, target: oneLine(target) };
}

function nodeOf(host: Host | undefined): Pick<AuditEntry, 'node' | 'nodeName'> {
  return host ? { node: host.id, nodeName: oneLine(host.name) } : {};
}

function targetOf({ path, body }: Operation): string {
  return path['id'] ?? path['name'] ?? bodyNode(body) ?? '';
}

function bodyNode(body: unknown): string | undefined {
  return typeof body === 'object' && body !== null && 'node' in body ? String(body.node) : undefined;
}

/** The record that an operation is about, as it is now; what is not there yet, or no longer, has none. */
async function subjectOf(
  parts: AuditParts,
  operation: Operation,
  { result, host: known }: { result?: unknown; host?: Host | undefined } = {},
): Promise<Subject> {
  const { route, path, body } = operation;
  const made =
    typeof result === 'object' && result !== null && 'id' in result ? String(result.id) : undefined;
  const id = path['id'] ?? made;
  // A node that was renamed is no longer found by the name in the path.
  const nodeKey = known?.id ?? id;
  switch (route.path.split('/')[3]) {
    case 'nodes': {
      const host = nodeKey === undefined ? undefined : await hostOf(parts, nodeKey);
      return { host, record: host && nodeView(host, await parts.hosts.instance(host.id), undefined) };
    }
    case 'workflows': {
      const workflow = id === undefined ? undefined : await parts.workflows.find(id);
      const key = workflow?.definition.hostId ?? bodyNode(body);
      return {
        host: key === undefined ? undefined : await hostOf(parts, key),
        // Memory has what was committed; this change is not yet.
        record: result ?? (workflow && workflowView(workflow)),
      };
    }
    case 'profiles':
      return { record: await parts.profiles.get(path['name'] ?? '') };
    case 'templates':
      return { record: await parts.templates.find(path['name'] ?? '') };
    case 'site':
      return { record: await parts.settings.stored() };
    case 'users':
      return { record: await parts.people.find(path['name'] ?? '') };
    default:
      return {};
  }
}

function hostOf({ nodes }: AuditParts, key: string): Promise<Host | undefined> {
  return nodes.find(key).catch(() => undefined);
}
