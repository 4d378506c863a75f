import type { FloorNode } from '../../protocol/floor.ts';

/** A row of the floor: a node that runs well, but for what is said here. */
export function floorNode(facts: Partial<FloorNode> = {}): FloorNode {
  return {
    id: 'host-1a2b3c4d',
    name: 'till-101',
    place: 'sw1/03',
    site: null,
    serial: '7X-0077C0PX',
    uuid: '6f8a3c1e-0d2b-4a77-9c55-d1e0f2a3b4c5',
    macs: ['52:54:00:12:34:56'],
    profile: 'pos',
    group: 'running',
    status: 'provisioning',
    statusText: 'Provisioning In Progress: 3/8',
    stage: 'stream-os-image',
    doing: 'writing the image',
    stageIndex: 2,
    stageCount: 4,
    percent: 50,
    bytesPerSecond: null,
    secondsLeft: null,
    since: '2026-11-18T09:00:00.000Z',
    heardAt: '2026-11-18T09:00:10.000Z',
    reason: null,
    workflowId: 'workflow-1',
    plan: null,
    ...facts,
  };
}
