import type { FloorNode } from '../../../protocol/floor.ts';

/** A node that writes its image. */
export const FLOOR_ROW: FloorNode = {
  id: 'host-1',
  name: 'till-1',
  place: null,
  site: null,
  serial: 'ABC12345',
  uuid: null,
  macs: [],
  profile: 'edge',
  group: 'running',
  status: 'provisioning',
  statusText: 'Provisioning In Progress: 1/2: Streaming OS image',
  stage: 'stream-os-image',
  doing: 'writing the image',
  stageIndex: 0,
  stageCount: 2,
  percent: null,
  bytesPerSecond: null,
  secondsLeft: null,
  since: '2026-11-18T08:00:00.000Z',
  heardAt: '2026-11-18T08:00:10.000Z',
  reason: null,
  workflowId: 'w',
  plan: null,
};
