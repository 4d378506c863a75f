import type { Host } from '../../nodes/host.ts';
import type { Instance } from '../../nodes/instance.ts';
import { statusLine } from '../../nodes/status-line.ts';
import { currentIndex, type StoredWorkflow } from '../../workflow/workflow.ts';
import type { NodeView } from './node-schemas.ts';

/** What the API shows of a host: its record, its instance and the workflow that is running, in one object. */
export function nodeView(
  host: Host,
  instance: Instance | undefined,
  workflow: StoredWorkflow | undefined,
): NodeView {
  return {
    id: host.id,
    name: host.name,
    status: statusLine(host, instance),
    isRegistered: host.isRegistered,
    uuid: host.uuid,
    serial: host.serial ?? host.reportedSerial,
    mac: host.mac ?? host.reportedMac,
    registeredAs: {
      uuid: host.uuid,
      serial: host.serial,
      mac: host.isMacRegistered === false ? null : host.mac,
    },
    ip: host.reportedIp,
    projectId: host.projectId,
    desiredState: host.desiredState,
    currentState: host.currentState,
    registrationStatus: host.registrationStatus,
    onboardingStatus: host.onboardingStatus,
    hostStatus: host.hostStatus,
    provisioningStatus: instance?.provisioningStatus ?? null,
    profile: instance?.profile ?? host.profile,
    site: host.site,
    metadata: host.metadata,
    proof: host.proof ?? null,
    ekHash: host.ekHash ?? null,
    proven: host.proven ?? null,
    mayEnroll: host.mayEnroll ?? true,
    acceptedParts: host.acceptedParts?.join('; ') ?? null,
    generation: instance?.generation ?? 0,
    provisionedGeneration: instance?.provisionedGeneration ?? 0,
    firstBootAt: instance?.firstBootAt ?? null,
    firstBoot: instance?.firstBoot ?? null,
    agents: instance?.agents ?? null,
    createdAt: host.createdAt,
    lastSeenAt: host.lastSeenAt,
    workflow: workflow ? workflowLine(workflow) : null,
  };
}

function workflowLine({ definition, progress }: StoredWorkflow): NonNullable<NodeView['workflow']> {
  const index = Math.min(currentIndex(progress), definition.actions.length - 1);
  return {
    id: definition.id,
    state: progress.state,
    action: definition.actions[index]?.name ?? '',
    index,
    total: definition.actions.length,
    message: progress.message || (progress.actions[index]?.message ?? ''),
    heardAt: progress.actions[index]?.heardAt ?? null,
  };
}
