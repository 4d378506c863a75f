import type { ApiRoute } from '../../../net/server/route.ts';
import { type AuditRouteParts, auditRoutes } from './audit-routes.ts';
import { type BillRouteParts, billRoutes } from './bill-routes.ts';
import { type DeviceRouteParts, deviceRoutes } from './device-routes.ts';
import { type FileRouteParts, fileRoutes } from './file-routes.ts';
import { type FloorRouteParts, floorRoutes } from './floor-routes.ts';
import { type ImportRouteParts, importRoutes } from './import-routes.ts';
import { type NeighborRouteParts, neighborRoutes } from './neighbor-routes.ts';
import { type NodeRouteParts, nodeRoutes } from './node-routes.ts';
import { type PeopleRouteParts, peopleRoutes } from './people-routes.ts';
import { type RecordRouteParts, recordRoutes } from './record-routes.ts';
import { type RecoveryKeyRouteParts, recoveryKeyRoutes } from './recovery-key-routes.ts';
import { type SealRouteParts, sealRoutes } from './seal-routes.ts';
import { type SiteRouteParts, siteRoutes } from './site-routes.ts';
import { type WorkflowRouteParts, workflowRoutes } from './workflow-routes.ts';

export type ApiParts = FloorRouteParts &
  NodeRouteParts &
  ImportRouteParts &
  NeighborRouteParts &
  PeopleRouteParts &
  DeviceRouteParts &
  AuditRouteParts &
  BillRouteParts &
  RecordRouteParts &
  RecoveryKeyRouteParts &
  SealRouteParts &
  SiteRouteParts &
  FileRouteParts &
  WorkflowRouteParts;

/** Every documented operation of the API. */
export function apiRoutes(parts: ApiParts): ApiRoute[] {
  return [
    ...floorRoutes(parts),
    ...nodeRoutes(parts),
    ...billRoutes(parts),
    ...importRoutes(parts),
    ...recordRoutes(parts),
    ...recoveryKeyRoutes(parts),
    ...neighborRoutes(parts),
    ...workflowRoutes(parts),
    ...siteRoutes(parts),
    ...fileRoutes(parts),
    ...sealRoutes(parts),
    ...peopleRoutes(parts),
    ...deviceRoutes(parts),
    ...auditRoutes(parts),
  ];
}
